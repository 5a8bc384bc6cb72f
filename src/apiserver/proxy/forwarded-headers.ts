/** Header forwarding of the proxy: hop-by-hop headers are removed (RFC 9110, 7.6.1). */
import { hopByHopHeaders } from '#/base/hop-by-hop-headers.ts'
export type ReceivedHeaders = Readonly<Record<string, string | undefined>>

/** Headers that a proxy adds to those of the client. Several values become several headers. */
export type UpstreamHeaders = Readonly<Record<string, string | readonly string[]>>

/** The client address and original URI, sent upstream as X-Forwarded-* headers. */
export interface Forwarding {
  readonly clientAddress: string
  /** Omitted from the headers when undefined. */
  readonly uri?: string
}

export function requestHeaders(
  headers: ReceivedHeaders,
  { clientAddress, uri }: Forwarding,
): Record<string, string> {
  const kept = withoutHops(headers, requestOnly)
  const before = headers['x-forwarded-for']
  return {
    ...kept,
    ...(clientAddress && {
      'x-forwarded-for': before === undefined ? clientAddress : `${before}, ${clientAddress}`,
    }),
    ...(uri !== undefined && { 'x-forwarded-uri': uri }),
  }
}

/**
 * Response headers without hop-by-hop and CORS headers: the upstream's CORS policy must not apply to the API
 * server.
 */
export function responseHeaders(
  headers: ReceivedHeaders,
  setCookies: readonly string[] = [],
): Record<string, string | readonly string[]> {
  const kept = withoutHops(headers, responseOnly)
  return { ...kept, ...(setCookies.length > 0 && { 'set-cookie': setCookies }) }
}

/** Response headers of an upgrade; only hop-by-hop headers are replaced. */
export function upgradeHeaders(headers: ReceivedHeaders): Record<string, string> {
  return { connection: 'Upgrade', ...withoutHops(headers, new Set()), upgrade: headers['upgrade'] ?? '' }
}

const requestOnly: ReadonlySet<string> = new Set(['expect'])

const responseOnly: ReadonlySet<string> = new Set([
  'access-control-allow-credentials',
  'access-control-allow-headers',
  'access-control-allow-methods',
  'access-control-allow-origin',
  'set-cookie',
])

function withoutHops(headers: ReceivedHeaders, further: ReadonlySet<string>): Record<string, string> {
  const named = new Set((headers['connection'] ?? '').toLowerCase().split(/\s*,\s*/))
  const kept: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    const isHop = name.startsWith(':') || hopByHopHeaders.has(name) || named.has(name) || further.has(name)
    if (value !== undefined && !isHop) kept[name] = value
  }
  return kept
}
