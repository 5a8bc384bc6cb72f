import { labelText } from './text-format.ts'

/** Common part of all metric types. */
export interface Metric {
  readonly name: string
  readonly help: string
  readonly stability?: Stability | undefined
  readonly deprecatedVersion?: string | undefined
  readonly type: 'counter' | 'gauge' | 'histogram'
  samples(): Iterable<Sample>
}

/** One line of an exposition. */
export interface Sample {
  /** `_bucket`, `_sum`, `_count` or nothing, after the name of the metric. */
  readonly suffix: string
  /** The labels in the text format, sorted by name, without braces. */
  readonly labels: string
  /** Upper bound of a bucket. */
  readonly bound?: number
  readonly value: number
}

/** Kubernetes' stability levels of metrics. */
export type Stability = 'ALPHA' | 'BETA' | 'STABLE'

export interface MetricOptions {
  readonly name: string
  readonly help: string
  readonly labels?: readonly string[]
  /** Maximum number of series; further label combinations are counted in one overflow series. */
  readonly seriesMax?: number
  /** For metrics of Kubernetes. */
  readonly stability?: Stability
  /** The Kubernetes version since which the metric is deprecated, such as `1.34.0`. */
  readonly deprecatedVersion?: string
}

const defaultSeriesMax = 10_000

/** Value of every label of the overflow series. */
const overflowValue = 'overflow'

interface Entry<T> {
  readonly series: T
  /** The labels in the text format. */
  readonly labels: string
}

/** The series of a metric, by label values. */
export class SeriesSet<T> {
  readonly #labels: readonly string[]
  readonly #make: () => T
  readonly #seriesMax: number
  readonly #series = new Map<string, Entry<T>>()

  constructor({ labels = [], seriesMax = defaultSeriesMax }: MetricOptions, make: () => T) {
    this.#labels = labels
    this.#make = make
    this.#seriesMax = seriesMax
  }

  /** `values` are in the order of the labels. */
  with(values: readonly string[]): T {
    const key = values.join('\0')
    const known = this.#series.get(key)
    if (known !== undefined) return known.series
    const labels = this.#labels
    if (values.length !== labels.length)
      throw new Error(`${values.length} values for ${labels.length} labels`)
    const isPast = this.#series.size >= this.#seriesMax && values.some(value => value !== overflowValue)
    if (isPast) return this.with(labels.map(() => overflowValue))
    const series = this.#make()
    this.#series.set(key, { labels: labelText(labels, values), series })
    return series
  }

  remove(values: readonly string[]): void {
    this.#series.delete(values.join('\0'))
  }

  [Symbol.iterator](): Iterator<Entry<T>> {
    return this.#series.values()
  }
}
