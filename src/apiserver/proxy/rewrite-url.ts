/** Addresses of the proxied page, upstream and on this server. */
export interface Origins {
  /** Path on this server that corresponds to the upstream root. */
  readonly prefix: string
  /** Upstream `host:port`, e.g. `10.244.0.7:80`. */
  readonly backendHost: string
  /** Host of this server in the client's request. */
  readonly requestHost: string
}

/** Rewrites a link or Location header so that it leads back through the proxy. */
export function rewriteUrl(url: string, { prefix, backendHost, requestHost }: Origins): string {
  const parts = parse(url)
  if (parts === undefined || !parts.path.startsWith('/')) return url
  const { origin, host, path, rest } = parts
  if (host !== '' && host !== backendHost && host !== requestHost) return url
  const kept = host !== '' && host === requestHost ? origin : ''
  return `${kept}${path.startsWith(prefix) ? '' : prefix}${path}${rest}`
}

interface UrlParts {
  readonly origin: string
  readonly host: string
  readonly path: string
  readonly rest: string
}

/** Undefined for URLs such as `mailto:` and `data:`. */
function parse(url: string): UrlParts | undefined {
  const [origin = '', host = ''] = /^(?:[a-z][a-z0-9+.-]*:)?\/\/([^/?#]*)/i.exec(url) ?? []
  if (origin === '' && /^[a-z][a-z0-9+.-]*:/i.test(url)) return undefined
  const after = url.slice(origin.length)
  const end = after.search(/[?#]/)
  const path = end === -1 ? after : after.slice(0, end)
  return { origin, host, path, rest: after.slice(path.length) }
}
