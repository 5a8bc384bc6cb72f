import { escapePath } from './escape-url.ts'

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
