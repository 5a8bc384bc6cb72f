/** One series of a metric in Prometheus' text format. */
export interface MetricLine {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** The series of one metric. Lines of other metrics are skipped without being parsed. */
export function metricLines(text: string, name: string): MetricLine[] {
  const found: MetricLine[] = []
  const start = `${name}{`
  for (let at = text.indexOf(`\n${start}`); at !== -1;) {
    const end = text.indexOf('\n', at + 1)
    const line = text.slice(at + 1 + name.length, end === -1 ? undefined : end)
    const parsed = parseLine(line)
    if (parsed) found.push(parsed)
    at = text.indexOf(`\n${start}`, at + 1)
  }
  return found
}

/** `{code="409",verb="PUT"} 3`. */
function parseLine(line: string): MetricLine | undefined {
  const close = line.lastIndexOf('}')
  const value = Number(
    line
      .slice(close + 1)
      .trim()
      .split(' ')[0],
  )
  if (close === -1 || Number.isNaN(value)) return undefined
  const labels: Record<string, string> = {}
  for (const [, label = '', text = ''] of line
    .slice(1, close)
    .matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g)) {
    labels[label] = text.replace(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped))
  }
  return { labels, value }
}

export interface ConflictCount {
  /** `deployments.apps/status`. */
  readonly resource: string
  readonly verb: string
  readonly count: number
  /** Requests of this kind, refused or not. */
  readonly requests: number
}

/** Requests that were refused since the object had changed, by resource and verb, the most frequent first. */
export function countConflicts(text: string): ConflictCount[] {
  const counts = new Map<string, ConflictCount>()
  for (const { labels, value } of metricLines(text, 'apiserver_request_total')) {
    const { code, verb = '', group = '', resource = '', subresource = '' } = labels
    if (resource === '') continue
    const name = `${resource}${group && `.${group}`}${subresource && `/${subresource}`}`
    const key = `${name} ${verb}`
    const { count = 0, requests = 0 } = counts.get(key) ?? {}
    const isConflict = code === '409'
    counts.set(key, {
      resource: name,
      verb,
      count: isConflict ? count + value : count,
      requests: requests + value,
    })
  }
  return [...counts.values()]
    .filter(({ count }) => count > 0)
    .sort((left, right) => right.count - left.count || (left.resource < right.resource ? -1 : 1))
}
