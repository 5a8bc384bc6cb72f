import assert from 'node:assert/strict'
import { test } from 'node:test'
import { growthOf, plotSamples, type Sample } from './report.ts'

function samplesOf(memoryMb: readonly number[]): readonly Sample[] {
  return memoryMb.map((value, index) => ({
    minute: index + 1,
    processes: { k8ts: { memoryMb: value, descriptors: 40, threads: 12, cpuPercent: 10 } },
    counts: {},
  }))
}

test('a soak reports what grows after the first quarter', () => {
  assert.deepEqual(growthOf(samplesOf([100, 300, 305, 298, 301, 299, 304, 303])), [])
  assert.deepEqual(growthOf(samplesOf([100, 100, 300, 300, 350, 350, 400, 400])), [
    'k8ts memoryMb grew from 300.0 to 400.0',
  ])
})

test('a soak is plotted between the least and the largest value', () => {
  const [first = '', second = ''] = plotSamples(samplesOf([100, 200, 300])).split('\n')
  assert.match(first, /^k8ts memoryMb +▁▅█ 100\.0 to 300\.0$/)
  assert.match(second, /^k8ts descriptors +▁▁▁ 40\.0 to 40\.0$/)
  const [long = ''] = plotSamples(samplesOf(Array.from({ length: 120 }, (_, index) => index))).split('\n')
  assert.equal(long.match(/[▁-█]/gu)?.length, 60)
})
