/**
 * Metrics in the Prometheus text format. A metric has one series for each combination of label values.
 * Callers on hot paths keep the series, so that counting is a single addition.
 */
import { Histogram, type HistogramOptions } from './metrics/histogram.ts'
import { line, SeriesSet, type Metric, type MetricOptions } from './metrics/metric.ts'

export type { Histogram, HistogramSeries } from './metrics/histogram.ts'

/** Content type of the result of `render`. */
export const metricsMediaType = 'text/plain; version=0.0.4; charset=utf-8'

export interface CallbackOptions extends MetricOptions {
  readonly type: 'counter' | 'gauge'
  /** Called for each scrape; returns label values and the metric value. */
  readonly read: () => Iterable<readonly [labels: readonly string[], value: number]>
}

export class MetricsRegistry {
  readonly #metrics = new Map<string, Metric>()

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
    const { name, help, type, labels = [], read } = options
    this.#add({
      name,
      help,
      type,
      *lines() {
        for (const [values, value] of read()) yield line({ name, labels, values, value })
      },
    })
  }

  render(): string {
    const parts: string[] = []
    for (const metric of this.#metrics.values()) {
      const { name, type } = metric
      const help = metric.help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
      parts.push(`# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`)
      for (const text of metric.lines()) parts.push(text)
    }
    return parts.join('')
  }

  #add<T extends Metric>(metric: T): T {
    if (this.#metrics.has(metric.name)) throw new Error(`metric ${metric.name} is already registered`)
    this.#metrics.set(metric.name, metric)
    return metric
  }
}

/** A metric with one number per series: a counter or gauge. */
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
