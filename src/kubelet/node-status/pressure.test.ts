import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kubeletConfiguration } from '../kubelet-configuration.ts'
import { PressureTransitions, observedPressures, type PressureType } from './pressure.ts'
import { memoryAvailable, pidAvailable } from './observe-signals.ts'

const { evictionHard } = kubeletConfiguration({
  name: 'n',
  addresses: [],
  rootDirectory: '/',
  cgroupRoot: '/',
})
const mebi = 1024 ** 2

test('a node is under pressure below its eviction threshold', () => {
  const cases: readonly (readonly [string, number, number, PressureType | undefined])[] = [
    ['memory.available', 100 * mebi, 8192 * mebi, undefined],
    ['memory.available', 100 * mebi - 1, 8192 * mebi, 'MemoryPressure'],
    ['nodefs.available', 10, 100, undefined],
    ['nodefs.available', 9.9, 100, 'DiskPressure'],
    ['nodefs.inodesFree', 5, 100, undefined],
    ['nodefs.inodesFree', 4, 100, 'DiskPressure'],
    ['imagefs.available', 15, 100, undefined],
    ['imagefs.available', 14, 100, 'DiskPressure'],
    ['imagefs.inodesFree', 4, 100, 'DiskPressure'],
    // A filesystem without inode counts.
    ['nodefs.inodesFree', 0, 0, undefined],
    // No threshold by default.
    ['pid.available', 0, 100, undefined],
  ]
  for (const [signal, available, total, expected] of cases) {
    const found = observedPressures({ [signal]: { available, total } }, evictionHard)
    assert.deepEqual(
      [...found],
      expected === undefined ? [] : [expected],
      `${signal} ${available} of ${total}`,
    )
  }
  const thresholds = { 'pid.available': '1k', 'odd.signal': '1', 'memory.available': 'nonsense' }
  const readings = {
    'pid.available': { available: 999, total: 32_768 },
    'memory.available': { available: 0, total: 1 },
  }
  assert.deepEqual([...observedPressures(readings, thresholds)], ['PIDPressure'])
  assert.deepEqual([...observedPressures({}, evictionHard)], [], 'what cannot be read is no pressure')
})

test('a pressure condition lasts five minutes after the last observation', () => {
  const lasting = new PressureTransitions()
  const at = (seconds: number, ...observed: PressureType[]): readonly PressureType[] => {
    return [...lasting.observe(new Set(observed), seconds * 1_000)]
  }
  assert.deepEqual(at(0), [])
  assert.deepEqual(at(10, 'DiskPressure'), ['DiskPressure'])
  assert.deepEqual(at(100, 'DiskPressure', 'MemoryPressure'), ['DiskPressure', 'MemoryPressure'])
  assert.deepEqual(at(350, 'MemoryPressure'), ['DiskPressure', 'MemoryPressure'])
  assert.deepEqual(at(400), ['MemoryPressure'])
  assert.deepEqual(at(650), [])
})

test('inactive file memory counts as available', () => {
  const meminfo = `MemTotal:       1000 kB
MemFree:         100 kB
MemAvailable:    700 kB
Inactive:        500 kB
Inactive(file):  300 kB
`
  assert.deepEqual(memoryAvailable(meminfo), { available: 400 * 1024, total: 1000 * 1024 })
  assert.equal(memoryAvailable(''), undefined)
})

test('available PIDs are counted with threads', () => {
  assert.deepEqual(pidAvailable('0.10 0.20 0.30 2/345 6789\n', '32768\n'), {
    available: 32_423,
    total: 32_768,
  })
  assert.equal(pidAvailable('', '32768'), undefined)
  assert.equal(pidAvailable('0.10 0.20 0.30 2/345 6789', ''), undefined)
})
