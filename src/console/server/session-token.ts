import type { HttpExchange } from '#/platform/http.ts'

/** Scripts cannot set headers of a WebSocket, so they send the token as a subprotocol. */
const tokenProtocolPrefix = 'base64url.bearer.authorization.k8ts.io.'

/** The session token of a request. */
export function sessionTokenOf(exchange: Pick<HttpExchange, 'headers' | 'headerValues'>): string | undefined {
  const { headers } = exchange
  const [, token] = /^bearer ([\w-]{1,100})$/i.exec(headers['authorization'] ?? '') ?? []
  if (token !== undefined || headers['upgrade']?.toLowerCase() !== 'websocket') return token
  const encoded = subprotocolsOf(exchange.headerValues('sec-websocket-protocol')).find(isToken)
  if (encoded === undefined) return undefined
  return Buffer.from(encoded.slice(tokenProtocolPrefix.length), 'base64url').toString()
}

/** Without the one that is the session token. */
export function withoutSessionToken(header: readonly string[]): readonly string[] {
  return subprotocolsOf(header).filter(protocol => !isToken(protocol))
}

function subprotocolsOf(header: readonly string[]): readonly string[] {
  return header
    .flatMap(value => value.split(','))
    .map(protocol => protocol.trim())
    .filter(protocol => protocol !== '')
}

function isToken(protocol: string): boolean {
  return protocol.startsWith(tokenProtocolPrefix)
}
