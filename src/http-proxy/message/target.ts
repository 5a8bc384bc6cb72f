/** Request targets and hosts (RFC 3986). */

export interface NormalTarget {
  /** Path and query. */
  readonly target: string
  readonly path: string
}

/**
 * Resolves `.` and `..` segments, also percent-encoded ones: otherwise `/public/../admin` would be routed as
 * `/public` and served as `/admin`. Everything else stays as it was sent.
 */
export function normalizeTarget(target: string): NormalTarget {
  const query = target.indexOf('?')
  const path = query === -1 ? target : target.slice(0, query)
  if (!mayHaveDots.test(path)) return { target, path }
  const normal = withoutDots(path)
  return { target: query === -1 ? normal : normal + target.slice(query), path: normal }
}

/** Nothing that could end the request line. */
export function isTarget(text: string): boolean {
  return targetForm.test(text)
}

const targetForm = /^\/[!-"$-~\x80-\xff]*$|^\*$/

/** Lower case, without the port; undefined if the host is malformed. */
export function hostnameOf(authority: string): string | undefined {
  const known = hostnames.get(authority)
  if (known !== undefined) return known
  const match = authorityForm.exec(authority)
  if (match === null) return undefined
  const [, host = ''] = match
  const hostname = host.toLowerCase().replace(/\.$/, '')
  if (hostnames.size < hostnamesMax) hostnames.set(authority, hostname)
  return hostname
}

/** A backslash is a separator for some servers. */
const mayHaveDots = /[/\\](?:\.|%2e)/i
/** The port, a registered name or an IP literal. */
const authorityForm = /^([A-Za-z0-9\-._~%!$&'()*+,;=]*|\[[0-9A-Fa-f:.]+\])(?::\d{0,5})?$/

/** Hosts of requests whose form has been checked; others are checked every time. */
const hostnamesMax = 1_000
const hostnames = new Map<string, string>([['', '']])

function withoutDots(path: string): string {
  const kept: string[] = []
  const segments = path.slice(1).split('/')
  for (const [index, segment] of segments.entries()) {
    const isLast = index === segments.length - 1
    const dots = segment.replaceAll(/%2e/gi, '.')
    if (dots === '.') {
      if (isLast) kept.push('')
    } else if (dots === '..') {
      kept.pop()
      if (isLast) kept.push('')
    } else kept.push(segment)
  }
  return `/${kept.join('/')}`
}
