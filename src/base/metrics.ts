/**
 * Metrics in the Prometheus text format or OpenMetrics. A metric has one series for each combination of label values.
 * Callers on hot paths keep the series, so that counting is a single addition.
 */
import { Histogram, type HistogramOptions } from './metrics/histogram.ts'
import { SeriesSet, type Metric, type MetricOptions, type Sample, type Stability } from './metrics/metric.ts'
import {
  formatMetric,
  labelText,
  mediaTypes,
  negotiateMetricsFormat,
  type MetricsFormat,
} from './metrics/text-format.ts'

export type { Histogram, HistogramSeries } from './metrics/histogram.ts'
export type { MetricOptions, Stability } from './metrics/metric.ts'
export { formatNumber, labelText } from './metrics/text-format.ts'

/** Content type of the result of `render`. */
export const metricsMediaType = mediaTypes.text

export interface CallbackOptions extends MetricOptions {
  readonly type: 'counter' | 'gauge'
  /** Called for each scrape; returns label values and the metric value. */
  readonly read: () => Iterable<readonly [labels: readonly string[], value: number]>
}

export interface MetricsRegistryOptions {
  /** Names of metrics that are not rendered. */
  readonly disabled?: readonly string[]
  /** True to render metrics that this version of Kubernetes hides, because they are deprecated. */
  readonly showsHidden?: boolean
}

export class MetricsRegistry {
  readonly #metrics = new Map<string, Metric>()
  readonly #disabled: ReadonlySet<string>
  readonly #showsHidden: boolean
  readonly #updates: (() => void)[] = []

  constructor({ disabled = [], showsHidden = false }: MetricsRegistryOptions = {}) {
    this.#disabled = new Set(disabled)
    this.#showsHidden = showsHidden
  }

  /** A metric that never decreases. */
  counter(options: MetricOptions): ScalarMetric {
    return this.#add(new ScalarMetric('counter', options))
  }

  gauge(options: MetricOptions): ScalarMetric {
    return this.#add(new ScalarMetric('gauge', options))
  }

  histogram(options: HistogramOptions): Histogram {
    return this.#add(new Histogram(options))
  }

  /** A metric with a value kept elsewhere, read at each scrape. */
  callbackMetric(options: CallbackOptions): void {
    const { labels = [], read } = options
    this.#add({
      ...options,
      *samples() {
        for (const [values, value] of read()) yield { suffix: '', labels: labelText(labels, values), value }
      },
    })
  }

  /** Calls `update` at the beginning of each `render`. */
  beforeRender(update: () => void): void {
    this.#updates.push(update)
  }

  /** All registered metrics, whether they are rendered or not. */
  get metrics(): readonly RegisteredMetric[] {
    return Array.from(this.#metrics.values(), metric => {
      const { name, type, stability, deprecatedVersion } = metric
      const isDisabled = this.#disabled.has(name)
      return { name, type, stability, deprecatedVersion, isDisabled, isHidden: isHidden(metric) }
    })
  }

  /** The response to a scrape, in the format for its `Accept` header. */
  expose(accept: string | undefined): { readonly mediaType: string; readonly text: string } {
    const format = negotiateMetricsFormat(accept)
    return { mediaType: mediaTypes[format], text: this.render(format) }
  }

  /** Sorted by name. Metrics without series are omitted. */
  render(format: MetricsFormat = 'text'): string {
    for (const update of this.#updates) update()
    const names = [...this.#metrics.keys()].sort()
    const parts = names.map(name => {
      const metric = this.#metrics.get(name)!
      if (this.#disabled.has(name) || (!this.#showsHidden && isHidden(metric))) return ''
      return formatMetric(metric, format) ?? ''
    })
    return parts.join('') + (format === 'OpenMetrics' ? '# EOF\n' : '')
  }

  #add<T extends Metric>(metric: T): T {
    if (this.#metrics.has(metric.name)) throw new Error(`metric ${metric.name} is already registered`)
    this.#metrics.set(metric.name, metric)
    return metric
  }
}

export interface RegisteredMetric {
  readonly name: string
  readonly type: Metric['type']
  readonly stability: Stability | undefined
  readonly deprecatedVersion: string | undefined
  readonly isDisabled: boolean
  readonly isHidden: boolean
}

/** The minor version of Kubernetes that is implemented. */
const currentMinor = 36

/** Minor versions for which a deprecated metric is still rendered. */
const shownMinors: Readonly<Record<Stability, number>> = { ALPHA: 0, BETA: 1, STABLE: 3 }

function isHidden({ stability = 'ALPHA', deprecatedVersion }: Metric): boolean {
  if (deprecatedVersion === undefined) return false
  return Number(deprecatedVersion.split('.')[1]) + shownMinors[stability] <= currentMinor
}

/** A metric with one number per series: a counter or gauge. */
export class ScalarMetric implements Metric {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge'
  readonly stability: Stability | undefined
  readonly deprecatedVersion: string | undefined
  readonly #series: SeriesSet<ScalarSeries>

  constructor(type: 'counter' | 'gauge', options: MetricOptions) {
    this.name = options.name
    this.help = options.help
    this.type = type
    this.stability = options.stability
    this.deprecatedVersion = options.deprecatedVersion
    this.#series = new SeriesSet(options, () => new ScalarSeries())
  }

  with(...values: string[]): ScalarSeries {
    return this.#series.with(values)
  }

  remove(...values: string[]): void {
    this.#series.remove(values)
  }

  *samples(): Generator<Sample, void, undefined> {
    for (const { labels, series } of this.#series) yield { suffix: '', labels, value: series.value }
  }
}

export class ScalarSeries {
  value = 0

  add(amount = 1): void {
    this.value += amount
  }
}
