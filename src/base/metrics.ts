/**
 * Figures about a running program, in the text format that Prometheus reads. A metric has one series for each
 * combination of its labels' values. Whoever counts often keeps its series: counting is then an addition.
 */
import { Figures } from './metrics/figures.ts'
import { Histogram, type HistogramOptions } from './metrics/histogram.ts'
import { line, type Metric, type MetricOptions } from './metrics/metric.ts'

export type { Figures, FigureSeries } from './metrics/figures.ts'
export type { Histogram, HistogramSeries } from './metrics/histogram.ts'

/** What `render` returns. */
export const metricsMediaType = 'text/plain; version=0.0.4; charset=utf-8'

export interface ReadingOptions extends MetricOptions {
  readonly type: 'counter' | 'gauge'
  /** Called for each rendering: values of the labels, and the figure. */
  readonly read: () => Iterable<readonly [labels: readonly string[], value: number]>
}

export class MetricsRegistry {
  readonly #metrics = new Map<string, Metric>()

  /** Only ever grows. */
  counter(options: MetricOptions): Figures {
    return this.#add(new Figures('counter', options))
  }

  gauge(options: MetricOptions): Figures {
    return this.#add(new Figures('gauge', options))
  }

  histogram(options: HistogramOptions): Histogram {
    return this.#add(new Histogram(options))
  }

  /** A figure that somebody else keeps, read when it is asked for. */
  reading(options: ReadingOptions): void {
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
    if (this.#metrics.has(metric.name)) throw new Error(`there is a metric ${metric.name} already`)
    this.#metrics.set(metric.name, metric)
    return metric
  }
}
