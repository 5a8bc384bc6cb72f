/** Common part of all metric types. */
export interface Metric {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  /** Lines of the text format, each with its line break. */
  lines(): Iterable<string>
}

export interface MetricOptions {
  readonly name: string
  readonly help: string
  readonly labels?: readonly string[]
  /** Maximum number of series; further label combinations are counted in one overflow series. */
  readonly seriesMax?: number
}

const defaultSeriesMax = 10_000

/** Value of every label of the overflow series. */
const overflowValue = 'overflow'

/** The series of a metric, by label values. */
export class SeriesSet<T> {
  readonly labels: readonly string[]
  readonly #make: () => T
  readonly #seriesMax: number
  readonly #series = new Map<string, { readonly values: readonly string[]; readonly series: T }>()

  constructor({ labels = [], seriesMax = defaultSeriesMax }: MetricOptions, make: () => T) {
    this.labels = labels
    this.#make = make
    this.#seriesMax = seriesMax
  }

  /** `values` are in the order of the labels. */
  with(values: readonly string[]): T {
    const key = values.join('\0')
    const known = this.#series.get(key)
    if (known !== undefined) return known.series
    const { labels } = this
    if (values.length !== labels.length)
      throw new Error(`${values.length} values for ${labels.length} labels`)
    const isPast = this.#series.size >= this.#seriesMax && values.some(value => value !== overflowValue)
    if (isPast) return this.with(labels.map(() => overflowValue))
    const series = this.#make()
    this.#series.set(key, { values, series })
    return series
  }

  remove(values: readonly string[]): void {
    this.#series.delete(values.join('\0'))
  }

  [Symbol.iterator](): Iterator<{ readonly values: readonly string[]; readonly series: T }> {
    return this.#series.values()
  }
}

export interface Line {
  readonly name: string
  readonly labels: readonly string[]
  readonly values: readonly string[]
  readonly value: number
}

export function line({ name, labels, values, value }: Line): string {
  const pairs = labels.map((label, index) => `${label}="${escape(values[index] ?? '')}"`)
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${format(value)}\n`
}

export function format(value: number): string {
  if (Number.isFinite(value)) return String(value)
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'
}

function escape(value: string): string {
  if (!/[\\"\n]/.test(value)) return value
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
