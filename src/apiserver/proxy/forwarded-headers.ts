/** Which headers go on and which are for this server only (RFC 9110, 7.6.1). */
export type ReceivedHeaders = Readonly<Record<string, string | undefined>>

/** Of a request that is passed on: to whom, for whom, and by which path on this server. */
export interface Forwarding {
  readonly clientAddress: string
  /** Undefined when nothing is to be said of it. */
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

/** Those of an answer. Whom the other server lets read its pages has nothing to do with this one. */
export function responseHeaders(
  headers: ReceivedHeaders,
  setCookies: readonly string[] = [],
): Record<string, string | readonly string[]> {
  const kept = withoutHops(headers, responseOnly)
  return { ...kept, ...(setCookies.length > 0 && { 'set-cookie': setCookies }) }
}

/** Of the answer to an upgrade everything counts. */
export function upgradeHeaders(headers: ReceivedHeaders): Record<string, string> {
  return { connection: 'Upgrade', ...withoutHops(headers, new Set()), upgrade: headers['upgrade'] ?? '' }
}

const hops: ReadonlySet<string> = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

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
    const isHop = name.startsWith(':') || hops.has(name) || named.has(name) || further.has(name)
    if (value !== undefined && !isHop) kept[name] = value
  }
  return kept
}
