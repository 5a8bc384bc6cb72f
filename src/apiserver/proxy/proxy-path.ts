/** A proxy path, as sent by the client. */
export interface ProxyPath {
  /** Up to `proxy`, without a trailing slash. */
  readonly prefix: string
  /** The upstream path: empty, or beginning with a slash. It cannot contain `..` segments. */
  readonly rest: string
}

/** `segments` is the number of path segments that belong to the API server. */
export function splitProxyPath(path: string, segments: number): ProxyPath {
  let end = 0
  for (let found = 0; found < segments && end < path.length; found++) {
    while (path[end] === '/') end++
    while (end < path.length && path[end] !== '/') end++
  }
  return { prefix: path.slice(0, end), rest: withoutDots(escapePath(path.slice(end))) }
}

const dot = /^(?:\.|%2e)$/i
const twoDots = /^(?:\.|%2e){2}$/i

/** Resolves `.` and `..`, so that the upstream server does not. */
function withoutDots(path: string): string {
  if (!/(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i.test(path)) return path
  const segments = path.split('/')
  const kept: string[] = []
  for (const [index, segment] of segments.entries()) {
    const isLast = index === segments.length - 1
    if (twoDots.test(segment)) {
      if (kept.length > 1) kept.pop()
      if (isLast) kept.push('')
    } else if (!dot.test(segment)) kept.push(segment)
    else if (isLast) kept.push('')
  }
  const joined = kept.join('/')
  return joined.startsWith('/') ? joined : `/${joined}`
}

/** Percent-encodes characters that are not allowed in a path. */
function escapePath(path: string): string {
  return path.replaceAll(/[^\x21\x22\x24-\x3e\x40-\x7e]/g, encode)
}

/** Percent-encodes characters that are not allowed in a query. */
export function escapeQuery(query: string): string {
  return query.replaceAll(/[^\x21\x22\x24-\x7e]/g, encode)
}

/** Characters up to 0xff are raw bytes of the request; others are encoded as UTF-8. */
function encode(character: string): string {
  const bytes = Buffer.from(character, character > '\xff' ? 'utf8' : 'latin1')
  return [...bytes].map(byte => `%${byte.toString(16).padStart(2, '0').toUpperCase()}`).join('')
}
