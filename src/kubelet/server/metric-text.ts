/** One-off metrics in Prometheus' text format, with timestamps: those that are read at the scrape. */
import { formatNumber, labelText } from '#/base/metrics.ts'

/** Metrics of one name. */
export interface MetricFamily {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge'
  readonly metrics: Iterable<ReadMetric>
}

export interface ReadMetric {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
  /** Time of the measurement, if not now. */
  readonly timeMs?: number
}

/** Values that are not numbers are omitted, and families without metrics. */
export function renderFamilies(families: readonly MetricFamily[]): string {
  return families.map(renderFamily).join('')
}

function renderFamily({ name, help, type, metrics }: MetricFamily): string {
  let text = ''
  for (const { labels, value, timeMs } of metrics) {
    if (!Number.isFinite(value)) continue
    const pairs = labelText(Object.keys(labels), Object.values(labels))
    const time = timeMs === undefined ? '' : ` ${Math.floor(timeMs)}`
    text += `${name}${pairs === '' ? '' : `{${pairs}}`} ${formatNumber(value)}${time}\n`
  }
  return text === '' ? '' : `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${text}`
}
