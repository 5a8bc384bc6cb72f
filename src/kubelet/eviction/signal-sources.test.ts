import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memoryAvailable, pidAvailable } from './signal-sources.ts'

test('inactive file memory counts as available', () => {
  const meminfo = `MemTotal:       1000 kB
MemFree:         100 kB
MemAvailable:    700 kB
Inactive:        500 kB
Inactive(file):  300 kB
`
  assert.deepEqual(memoryAvailable(meminfo), { available: 400 * 1024, capacity: 1000 * 1024 })
  assert.equal(memoryAvailable(''), undefined)
})

test('available PIDs are counted with threads, and limited by the smaller limit of the kernel', () => {
  const loadavg = '0.10 0.20 0.30 2/345 6789\n'
  const cases: readonly (readonly [string, string, string, number | undefined])[] = [
    [loadavg, '32768\n', '60000\n', 32_768],
    [loadavg, '4194304\n', '60000\n', 60_000],
    ['', '32768', '60000', undefined],
    [loadavg, '', '60000', undefined],
  ]
  for (const [text, pidMax, threadsMax, capacity] of cases) {
    const expected = capacity === undefined ? undefined : { available: capacity - 345, capacity }
    assert.deepEqual(pidAvailable({ loadavg: text, pidMax, threadsMax }), expected)
  }
})
