/** Metrics of one name. */
export interface MetricFamily {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge'
  readonly metrics: readonly Metric[]
}

export interface Metric {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
  /** Timestamp, if not now. */
  readonly time?: string
}

/** Renders one-off metrics in Prometheus' text format. Values that are not numbers are omitted. */
export function renderMetrics(families: readonly MetricFamily[]): string {
  const lines = families.flatMap(({ name, help, type, metrics }) => [
    `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`,
    ...metrics.filter(({ value }) => Number.isFinite(value)).map(metric => `${name}${render(metric)}\n`),
  ])
  return lines.join('')
}

function render({ labels, value, time }: Metric): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escape(text)}"`)
  const named = pairs.length === 0 ? '' : `{${pairs.join(',')}}`
  return `${named} ${value}${time === undefined ? '' : ` ${Date.parse(time)}`}`
}

function escape(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
