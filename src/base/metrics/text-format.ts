/** The Prometheus text format and OpenMetrics 1.0. */
import type { Metric } from './metric.ts'

export type MetricsFormat = 'text' | 'OpenMetrics'

export const mediaTypes: Readonly<Record<MetricsFormat, string>> = {
  text: 'text/plain; version=0.0.4; charset=utf-8; escaping=underscores',
  OpenMetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores',
}

/** A metric with its samples, or undefined if it has none. */
export function formatMetric(metric: Metric, format: MetricsFormat): string | undefined {
  const formatBound = format === 'text' ? formatNumber : formatCanonical
  const { name } = metric
  let text = ''
  for (const { suffix, labels, bound, value } of metric.samples()) {
    const le = bound === undefined ? '' : `le="${formatBound(bound)}"`
    const all = labels !== '' && le !== '' ? `${labels},${le}` : labels + le
    text += `${name}${suffix}${all === '' ? '' : `{${all}}`} ${formatNumber(value)}\n`
  }
  return text === '' ? undefined : `${formatHeader(metric, format)}${text}`
}

/** In OpenMetrics a counter is named without `_total`; one that is not named so has no type. */
function formatHeader(metric: Metric, format: MetricsFormat): string {
  const { type } = metric
  const isCounter = format === 'OpenMetrics' && type === 'counter'
  const isTotal = metric.name.endsWith('_total')
  const name = isCounter && isTotal ? metric.name.slice(0, -'_total'.length) : metric.name
  const help = escape(helpOf(metric), format === 'OpenMetrics')
  return `# HELP ${name} ${help}\n# TYPE ${name} ${isCounter && !isTotal ? 'unknown' : type}\n`
}

function helpOf({ help, stability, deprecatedVersion }: Metric): string {
  if (stability === undefined) return help
  const deprecated = deprecatedVersion === undefined ? '' : `(Deprecated since ${deprecatedVersion}) `
  return `[${stability}] ${deprecated}${help}`
}

/** Label pairs sorted by name. `values` are in the order of the names. */
export function labelText(names: readonly string[], values: readonly string[]): string {
  return names
    .map((name, index) => [name, values[index] ?? ''] as const)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, value]) => `${name}="${escape(value, true)}"`)
    .join(',')
}

/**
 * Bounds of buckets are label values, so they must be written as Go's programs do: with an exponent from a million on
 * and below 1/10,000.
 */
export function formatNumber(value: number): string {
  const size = Math.abs(value)
  if ((size >= 1e-4 && size < 1e6) || value === 0) return String(value)
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'
  return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2')
}

/** In OpenMetrics, bounds have a decimal point. */
function formatCanonical(value: number): string {
  const text = formatNumber(value)
  return /^-?\d+$/.test(text) ? `${text}.0` : text
}

function escape(text: string, withQuotes: boolean): string {
  if (!/[\\"\n]/.test(text)) return text
  const escaped = text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
  return withQuotes ? escaped.replaceAll('"', '\\"') : escaped
}

/** The format for an `Accept` header: OpenMetrics if it is preferred, otherwise text, which any scraper reads. */
export function negotiateMetricsFormat(accept: string | undefined): MetricsFormat {
  let best: MetricsFormat = 'text'
  let bestQuality = 0
  for (const range of accept?.split(',') ?? []) {
    const [type = '', ...parameters] = range.split(';').map(each => each.trim().toLowerCase())
    const format = formatOf(type, parameters)
    const quality = Number(parameters.find(each => each.startsWith('q='))?.slice(2) ?? 1)
    if (format === undefined || !(quality > bestQuality)) continue
    best = format
    bestQuality = quality
  }
  return best
}

function formatOf(type: string, parameters: readonly string[]): MetricsFormat | undefined {
  if (type === 'text/plain' || type === 'text/*' || type === '*/*') return 'text'
  if (type !== 'application/openmetrics-text') return undefined
  const version = parameters.find(each => each.startsWith('version='))?.slice('version='.length) ?? '1.0.0'
  return version === '1.0.0' || version === '0.0.1' ? 'OpenMetrics' : undefined
}
