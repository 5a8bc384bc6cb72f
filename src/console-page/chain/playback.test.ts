import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planSteps, playheadAt, stepAt, stepBy } from './playback.ts'

const steps = planSteps([
  { startedMs: 10, endedMs: 20 },
  { startedMs: 12, endedMs: 50 },
  { startedMs: 21, endedMs: 30 },
  { startedMs: 22, endedMs: 30 },
])

test('planSteps orders hops by their ends', () => {
  assert.deepEqual(steps, { startMs: 10, endsMs: [20, 30, 30, 50] })
})

test('stepAt counts the hops that have ended', () => {
  for (const [playheadMs, step] of [
    [0, 0],
    [19, 0],
    [20, 1],
    [30, 3],
    [49, 3],
    [99, 4],
  ] as const) {
    assert.equal(stepAt(steps, playheadMs), step, String(playheadMs))
  }
})

test('stepBy goes forward and back through the same moments', () => {
  const forward = [10]
  for (let index = 0; index < 4; index++) forward.push(stepBy(steps, forward.at(-1) ?? 0, 1))
  assert.deepEqual(forward, [10, 20, 30, 50, 50])
  const back = [50]
  for (let index = 0; index < 4; index++) back.push(stepBy(steps, back.at(-1) ?? 0, -1))
  assert.deepEqual(back, [50, 30, 20, 10, 10])
  assert.equal(stepBy(steps, 40, -1), 30)
})

test('playheadAt stays within the chain', () => {
  assert.equal(playheadAt(steps, -1), 10)
  assert.equal(playheadAt(steps, 99), 50)
})
