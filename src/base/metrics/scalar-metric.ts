/** Metrics with one number per series: counters and gauges. */
import { line, SeriesSet, type Metric, type MetricOptions } from './metric.ts'

export class ScalarMetric implements Metric {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge'
  readonly #series: SeriesSet<ScalarSeries>

  constructor(type: 'counter' | 'gauge', options: MetricOptions) {
    this.name = options.name
    this.help = options.help
    this.type = type
    this.#series = new SeriesSet(options, () => new ScalarSeries())
  }

  with(...values: string[]): ScalarSeries {
    return this.#series.with(values)
  }

  remove(...values: string[]): void {
    this.#series.remove(values)
  }

  *lines(): Generator<string> {
    const { labels } = this.#series
    for (const { values, series } of this.#series)
      yield line({ name: this.name, labels, values, value: series.value })
  }
}

export class ScalarSeries {
  value = 0

  add(amount = 1): void {
    this.value += amount
  }
}
