import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PassLog, type EndedPass } from './pass-log.ts'

function passAt(endedMs: number): EndedPass {
  const times = { queuedMs: endedMs, startedMs: endedMs, endedMs }
  return { component: 'kube-proxy', key: 'default/web', causes: [1], steps: [], ...times }
}

test('PassLog keeps the last 256 passes, and lists those after a time', () => {
  const log = new PassLog()
  assert.deepEqual(log.list(0), [])
  for (let ms = 1; ms <= 1_000; ms++) log.record(passAt(ms))
  const all = log.list(0)
  assert.deepEqual([all.length, all[0]?.endedMs, all.at(-1)?.endedMs], [256, 745, 1_000])
  assert.deepEqual(
    log.list(998).map(({ endedMs }) => endedMs),
    [999, 1_000],
  )
  assert.deepEqual(log.list(1_000), [])
})
