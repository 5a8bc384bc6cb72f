/** The responses of `/healthz`, `/livez` and `/readyz`, with Kubernetes' texts. */
import { quote } from './text/quote.ts'

export interface HealthResult {
  readonly name: string
  readonly isPassed: boolean
}

export interface HealthReport {
  readonly status: number
  readonly text: string
}

/**
 * The response of an endpoint after its checks have run, except those that the query excludes. The reason of a failure
 * is not disclosed.
 */
export function healthReport(
  endpoint: string,
  results: readonly HealthResult[],
  query: URLSearchParams,
): HealthReport {
  const excluded = excludedChecks(query)
  const lines = results.map(({ name, isPassed }) => {
    if (excluded.has(name)) return `[+]${name} excluded: ok\n`
    return isPassed ? `[+]${name} ok\n` : `[-]${name} failed: reason withheld\n`
  })
  const unknown = [...excluded].filter(name => results.every(result => result.name !== name)).sort()
  if (unknown.length > 0) {
    const names = unknown.map(quote).join(',')
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names}\n`)
  }
  const isFailed = results.some(({ name, isPassed }) => !isPassed && !excluded.has(name))
  if (isFailed) return { status: 500, text: `${lines.join('')}${endpoint} check failed\n` }
  return { status: 200, text: query.has('verbose') ? `${lines.join('')}${endpoint} check passed\n` : 'ok' }
}

/** The response for a single check. */
export function checkReport(failure: string | undefined): HealthReport {
  if (failure === undefined) return { status: 200, text: 'ok' }
  return { status: 500, text: `internal server error: ${failure}\n` }
}

/** The names of the checks that must not run. */
export function excludedChecks(query: URLSearchParams): ReadonlySet<string> {
  return new Set(query.getAll('exclude'))
}
