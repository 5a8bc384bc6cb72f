import { SeriesSet, type Metric, type MetricOptions, type Sample, type Stability } from './metric.ts'

export interface HistogramOptions extends MetricOptions {
  /** Upper bounds, ascending; the +Inf bucket is implied. */
  readonly buckets: readonly number[]
}

export class Histogram implements Metric {
  readonly name: string
  readonly help: string
  readonly type = 'histogram'
  readonly stability: Stability | undefined
  readonly #series: SeriesSet<HistogramSeries>
  readonly #bounds: readonly number[]

  constructor(options: HistogramOptions) {
    this.name = options.name
    this.help = options.help
    this.stability = options.stability
    this.#bounds = [...options.buckets, Infinity]
    this.#series = new SeriesSet(options, () => new HistogramSeries(options.buckets))
  }

  with(...values: string[]): HistogramSeries {
    return this.#series.with(values)
  }

  remove(...values: string[]): void {
    this.#series.remove(values)
  }

  *samples(): Generator<Sample, void, undefined> {
    for (const { labels, series } of this.#series) {
      let count = 0
      for (const [index, bound] of this.#bounds.entries()) {
        count += series.counts[index]!
        yield { suffix: '_bucket', labels, bound, value: count }
      }
      yield { suffix: '_sum', labels, value: series.sum }
      yield { suffix: '_count', labels, value: count }
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

  /** `weight` is the number of observations of the value. */
  observe(value: number, weight = 1): void {
    const buckets = this.#buckets
    let index = 0
    while (index < buckets.length && value > buckets[index]!) index += 1
    this.counts[index]! += weight
    this.sum += value * weight
  }
}
