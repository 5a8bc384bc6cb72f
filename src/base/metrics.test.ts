import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MetricsRegistry, type MetricOptions } from './metrics.ts'

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
    `# HELP read Read.
# TYPE read gauge
read{which="a"} 1
read{which="b"} NaN
# HELP requests_total Requests.
# TYPE requests_total counter
requests_total{code="200",verb="GET"} 3
requests_total{code="a\\"b\\\\c\\nd",verb="GET"} 1
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
`,
  )
})

test('a metric without series is omitted, and removed series disappear', () => {
  const registry = new MetricsRegistry()
  const gauge = registry.gauge({ name: 'a', help: 'A.', labels: ['x'] })
  assert.equal(registry.render(), '')
  gauge.with('1').add()
  assert.match(registry.render(), /a\{x="1"\} 1/)
  gauge.remove('1')
  assert.equal(registry.render(), '')
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

test('OpenMetrics names counters without _total, writes bounds as floats and ends with EOF', () => {
  const registry = new MetricsRegistry()
  registry.counter({ name: 'requests_total', help: 'A "quoted" word.' }).with().add(2)
  registry.counter({ name: 'attempts', help: 'Attempts.' }).with().add()
  registry
    .histogram({ name: 'bytes', help: 'Bytes.', buckets: [1, 0.5e7] })
    .with()
    .observe(3)
  assert.equal(
    registry.render('OpenMetrics'),
    `# HELP attempts Attempts.
# TYPE attempts unknown
attempts 1
# HELP bytes Bytes.
# TYPE bytes histogram
bytes_bucket{le="1.0"} 0
bytes_bucket{le="5e+06"} 1
bytes_bucket{le="+Inf"} 1
bytes_sum 3
bytes_count 1
# HELP requests A \\"quoted\\" word.
# TYPE requests counter
requests_total 2
# EOF
`,
  )
})

test('numbers are written as Go does', () => {
  const registry = new MetricsRegistry()
  const buckets = [5e-7, 0.00001, 0.0001, 0.25, 999_999, 1e6, 1.05e6, 1e10]
  registry.histogram({ name: 'a', help: 'A.', buckets }).with()
  const bounds = Array.from(registry.render().matchAll(/le="(.*?)"/g), ([, bound]) => bound)
  assert.deepEqual(bounds, [
    '5e-07',
    '1e-05',
    '0.0001',
    '0.25',
    '999999',
    '1e+06',
    '1.05e+06',
    '1e+10',
    '+Inf',
  ])
})

test('disabled metrics are not rendered, and deprecated ones only as long as Kubernetes shows them', () => {
  const render = (showsHidden: boolean): string[] => {
    const registry = new MetricsRegistry({ disabled: ['b'], showsHidden })
    const add = (name: string, more: Partial<MetricOptions>): void => {
      registry.gauge({ name, help: 'Text.', stability: 'ALPHA', ...more }).with()
    }
    add('a', { stability: 'STABLE' })
    add('b', {})
    add('c', { deprecatedVersion: '1.36.0' })
    add('d', { deprecatedVersion: '1.34.0', stability: 'STABLE' })
    add('e', { deprecatedVersion: '1.33.0', stability: 'STABLE' })
    return registry
      .render()
      .split('\n')
      .filter(line => line.startsWith('# HELP'))
      .map(line => line.slice('# HELP '.length))
  }
  const shown = ['a [STABLE] Text.', 'd [STABLE] (Deprecated since 1.34.0) Text.']
  assert.deepEqual(render(false), shown)
  assert.deepEqual(render(true), [
    'a [STABLE] Text.',
    'c [ALPHA] (Deprecated since 1.36.0) Text.',
    'd [STABLE] (Deprecated since 1.34.0) Text.',
    'e [STABLE] (Deprecated since 1.33.0) Text.',
  ])
})

test('the format is negotiated', () => {
  const check = (accept: string | undefined, format: 'text' | 'OpenMetrics'): void => {
    const { mediaType, text } = new MetricsRegistry().expose(accept)
    const isOpenMetrics = mediaType.startsWith('application/openmetrics-text; version=1.0.0;')
    assert.equal(isOpenMetrics ? 'OpenMetrics' : 'text', format, accept ?? 'no header')
    assert.equal(text, isOpenMetrics ? '# EOF\n' : '')
  }
  check(undefined, 'text')
  check('', 'text')
  check('application/json', 'text')
  check('application/openmetrics-text', 'OpenMetrics')
  check('application/openmetrics-text;version=2.0.0', 'text')
  check('application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.6', 'text')
  check('application/openmetrics-text;version=1.0.0;q=0.6, text/plain;q=0.5,*/*;q=0.1', 'OpenMetrics')
  check('*/*', 'text')
})
