import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MetricsRegistry } from './metrics.ts'

test('counters, gauges, histograms and collected values are written in the text format', () => {
  const registry = new MetricsRegistry()
  const requests = registry.counter({ name: 'requests_total', help: 'Requests.', labels: ['verb', 'code'] })
  requests.with('GET', '200').add()
  requests.with('GET', '200').add(2)
  requests.with('GET', 'a"b\\c\nd').add()
  const running = registry.gauge({ name: 'running', help: 'Back\\slash and\nline.' }).with()
  running.add(3)
  running.add(-1)
  const seconds = registry.histogram({ name: 'seconds', help: 'Time.', labels: ['verb'], buckets: [0.5, 1] })
  for (const value of [0.1, 0.5, 0.7, 9]) seconds.with('GET').observe(value)
  const read = (): [string[], number][] => [
    [['a'], 1],
    [['b'], NaN],
  ]
  registry.callbackMetric({ name: 'read', help: 'Read.', type: 'gauge', labels: ['which'], read })
  assert.equal(
    registry.render(),
    `# HELP requests_total Requests.
# TYPE requests_total counter
requests_total{verb="GET",code="200"} 3
requests_total{verb="GET",code="a\\"b\\\\c\\nd"} 1
# HELP running Back\\\\slash and\\nline.
# TYPE running gauge
running 2
# HELP seconds Time.
# TYPE seconds histogram
seconds_bucket{verb="GET",le="0.5"} 2
seconds_bucket{verb="GET",le="1"} 3
seconds_bucket{verb="GET",le="+Inf"} 4
seconds_sum{verb="GET"} 10.3
seconds_count{verb="GET"} 4
# HELP read Read.
# TYPE read gauge
read{which="a"} 1
read{which="b"} NaN
`,
  )
})

test('a metric without series has no lines, and removed series disappear', () => {
  const registry = new MetricsRegistry()
  const gauge = registry.gauge({ name: 'a', help: 'A.', labels: ['x'] })
  const empty = registry.render()
  gauge.with('1').add()
  assert.match(registry.render(), /a\{x="1"\} 1/)
  gauge.remove('1')
  assert.equal(registry.render(), empty)
})

test('new label values over the bound share one series', () => {
  const registry = new MetricsRegistry()
  const counter = registry.counter({ name: 'a', help: 'A.', labels: ['x', 'y'], seriesMax: 2 })
  for (let index = 0; index < 100; index++) counter.with(String(index), 'z').add()
  counter.with('0', 'z').add()
  assert.deepEqual(registry.render().split('\n').slice(2), [
    'a{x="0",y="z"} 2',
    'a{x="1",y="z"} 1',
    'a{x="overflow",y="overflow"} 98',
    '',
  ])
})

test('label values must match label names, and metric names are unique', () => {
  const registry = new MetricsRegistry()
  const counter = registry.counter({ name: 'a', help: 'A.', labels: ['x'] })
  assert.throws(() => counter.with(), /0 values for 1 labels/)
  assert.throws(() => registry.gauge({ name: 'a', help: 'B.' }), /metric a is already registered/)
})
