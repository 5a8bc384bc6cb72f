import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MetricsRegistry } from '#/base/metrics.ts'
import { TimingRatio } from './timing-ratio.ts'

test('each bucket has the nanoseconds during which the ratio was in it', () => {
  const registry = new MetricsRegistry()
  const series = registry.histogram({ name: 'a', help: 'A.', buckets: [0, 0.5, 1] }).with()
  const ratio = new TimingRatio(series, 100)
  ratio.setLimit(4, 110)
  ratio.add(2, 120)
  ratio.add(2, 150)
  ratio.setLimit(2, 150.5)
  ratio.advance(151)
  ratio.advance(151)
  assert.deepEqual(series.counts, [20e6, 30e6, 0.5e6, 0.5e6])
  assert.equal(series.sum, 0.5 * 30e6 + 0.5e6 + 2 * 0.5e6)
})
