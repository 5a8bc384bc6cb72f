import { format, line, SeriesSet, type Metric, type MetricOptions } from './metric.ts'

export interface HistogramOptions extends MetricOptions {
  /** Upper bounds, ascending; the +Inf bucket is implied. */
  readonly buckets: readonly number[]
}

export class Histogram implements Metric {
  readonly name: string
  readonly help: string
  readonly type = 'histogram'
  readonly #series: SeriesSet<HistogramSeries>
  readonly #buckets: readonly number[]

  constructor(options: HistogramOptions) {
    this.name = options.name
    this.help = options.help
    this.#buckets = options.buckets
    this.#series = new SeriesSet(options, () => new HistogramSeries(options.buckets))
  }

  with(...values: string[]): HistogramSeries {
    return this.#series.with(values)
  }

  *lines(): Generator<string> {
    const { labels } = this.#series
    const bounds = [...this.#buckets, Infinity].map(format)
    for (const { values, series } of this.#series) {
      let count = 0
      for (const [index, bound] of bounds.entries()) {
        count += series.counts[index]!
        yield line({
          name: `${this.name}_bucket`,
          labels: [...labels, 'le'],
          values: [...values, bound],
          value: count,
        })
      }
      yield line({ name: `${this.name}_sum`, labels, values, value: series.sum })
      yield line({ name: `${this.name}_count`, labels, values, value: count })
    }
  }
}

export class HistogramSeries {
  /** Observations in each bucket, not cumulative; the last is the +Inf bucket. */
  readonly counts: number[]
  sum = 0
  readonly #buckets: readonly number[]

  constructor(buckets: readonly number[]) {
    this.#buckets = buckets
    this.counts = Array.from({ length: buckets.length + 1 }, () => 0)
  }

  observe(value: number): void {
    const buckets = this.#buckets
    let index = 0
    while (index < buckets.length && value > buckets[index]!) index += 1
    this.counts[index]! += 1
    this.sum += value
  }
}
