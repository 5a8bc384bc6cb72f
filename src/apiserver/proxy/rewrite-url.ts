/** From where a page came, and how it is reached. */
export interface Origins {
  /** The path on this server that leads to the root of the other one. */
  readonly prefix: string
  /** As the other server is called here: `10.244.0.7:80`. */
  readonly backendHost: string
  /** As the client calls this server. */
  readonly requestHost: string
}

/** A link on a page, or the place that an answer sends to, so that it leads back through the proxy. */
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

/** Undefined for addresses of other kinds: `mailto:`, `data:`. */
function parse(url: string): UrlParts | undefined {
  const [origin = '', host = ''] = /^(?:[a-z][a-z0-9+.-]*:)?\/\/([^/?#]*)/i.exec(url) ?? []
  if (origin === '' && /^[a-z][a-z0-9+.-]*:/i.test(url)) return undefined
  const after = url.slice(origin.length)
  const end = after.search(/[?#]/)
  const path = end === -1 ? after : after.slice(0, end)
  return { origin, host, path, rest: after.slice(path.length) }
}
