import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addSample, niceMax, plotPath, samplesMax, type Sample } from './sample-series.ts'

test('addSample keeps the latest samples and ignores one that was not measured again', () => {
  let samples: readonly Sample[] = []
  for (let timeMs = 1; timeMs <= samplesMax + 5; timeMs++)
    samples = addSample(samples, { timeMs, value: timeMs })
  assert.equal(samples.length, samplesMax)
  assert.equal(samples.at(-1)?.value, samplesMax + 5)
  assert.equal(addSample(samples, { timeMs: samplesMax + 5, value: 0 }), samples)
})

test('plotPath spans the area and needs two samples', () => {
  const samples = [0, 5, 10].map((value, index) => ({ timeMs: index * 1_000, value }))
  assert.equal(plotPath(samples, { width: 100, height: 20, max: 10 }), 'M0.0 20.0L50.0 10.0L100.0 0.0')
  assert.equal(plotPath(samples.slice(0, 1), { width: 100, height: 20, max: 10 }), '')
})

test('niceMax is a round value not below the given one', () => {
  for (const [value, max] of [
    [0, 1],
    [0.03, 0.05],
    [1, 1],
    [1.2, 2],
    [450, 500],
    [510, 1000],
  ] as const) {
    assert.ok(Math.abs(niceMax(value) - max) < 1e-9, String(value))
  }
})
