/**
 * Hostnames of listeners and routes: exact, with a wildcard as the first label, which stands for one or more
 * labels, or `*` for all hosts.
 */
export const anyHost = '*'

/** True if `outer` matches every host that `inner` matches. */
export function covers(outer: string, inner: string): boolean {
  if (outer === anyHost || outer === inner) return true
  return isWildcard(outer) && inner !== anyHost && inner.endsWith(outer.slice(1))
}

/** The hosts that both match: the more specific of the two, or undefined if there are none. */
export function intersection(a: string, b: string): string | undefined {
  if (covers(a, b)) return b
  return covers(b, a) ? a : undefined
}

/** Hostnames other than the given one that match all its hosts, the most specific first. */
export function wildcardsOf(hostname: string): readonly string[] {
  if (hostname === anyHost) return []
  const wildcards: string[] = []
  const start = isWildcard(hostname) ? 2 : 0
  for (let dot = hostname.indexOf('.', start); dot !== -1; dot = hostname.indexOf('.', dot + 1))
    wildcards.push(`*${hostname.slice(dot)}`)
  return [...wildcards, anyHost]
}

/** Exact names first, then longer names. */
export function compareSpecificity(a: string, b: string): number {
  return Number(isWildcard(a)) - Number(isWildcard(b)) || b.length - a.length
}

/** Without repetitions. An empty list of a route means all hosts of the listener. */
export function intersections(listener: string, route: readonly string[]): readonly string[] {
  if (route.length === 0) return [listener]
  const common = route.map(each => intersection(listener, each.toLowerCase()))
  return [...new Set(common.filter(each => each !== undefined))]
}

function isWildcard(hostname: string): boolean {
  return hostname.startsWith('*')
}
