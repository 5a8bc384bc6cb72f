/** WebSocket handshake over HTTP/1.1 (RFC 6455, 4), server side. */
import { createHash } from 'node:crypto'
import type { HijackedConnection } from '#/platform/http.ts'
import { refuse, type Refusal, type UpgradeExchange } from './upgrade-exchange.ts'

export interface AcceptedWebSocket extends HijackedConnection {
  /** Selected subprotocol; empty if the client requested none. */
  readonly protocol: string
}

/** True if the request is a WebSocket upgrade, valid or not. */
export function isWebSocketRequest({ headers }: Pick<UpgradeExchange, 'headers'>): boolean {
  return headers['upgrade']?.toLowerCase() === 'websocket' && /\bupgrade\b/i.test(headers['connection'] ?? '')
}

/** Requested subprotocols in order of preference. */
export function requestedProtocols(exchange: Pick<UpgradeExchange, 'headerValues'>): string[] {
  return exchange
    .headerValues('sec-websocket-protocol')
    .flatMap(value => value.split(','))
    .map(protocol => protocol.trim())
    .filter(protocol => protocol !== '')
}

/** Result of a handshake. An empty entry in `supported` permits requests without a subprotocol. */
export function answerHandshake(
  request: Pick<UpgradeExchange, 'method' | 'headers' | 'headerValues'>,
  supported: readonly string[],
): HandshakeAnswer {
  const { method, headers } = request
  if (method !== 'GET') return { type: 'refused', status: 405, message: 'bad method' }
  const key = headers['sec-websocket-key'] ?? ''
  if (headers['sec-websocket-version'] !== '13') {
    const message = 'missing or bad WebSocket Version'
    return { type: 'refused', status: 400, message, headers: { 'sec-websocket-version': '13' } }
  }
  if (!/^[A-Za-z0-9+/]{22}==$/.test(key))
    return { type: 'refused', status: 400, message: 'mismatch challenge/response' }
  const requested = requestedProtocols(request)
  const protocol = (requested.length > 0 ? requested : ['']).find(each => supported.includes(each))
  if (protocol === undefined) {
    const lists = [requested, supported].map(names => `[${names.join(' ')}]`)
    const message = `requested protocol(s) are not supported: ${lists.join('; supports ')}`
    return { type: 'refused', status: 403, message }
  }
  return {
    type: 'accepted',
    protocol,
    headers: {
      'Upgrade': 'websocket',
      'Connection': 'Upgrade',
      'Sec-WebSocket-Accept': acceptanceOf(key),
      ...(protocol !== '' && { 'Sec-WebSocket-Protocol': protocol }),
    },
  }
}

export type HandshakeAnswer =
  | {
      readonly type: 'accepted'
      readonly protocol: string
      readonly headers: Readonly<Record<string, string>>
    }
  | ({ readonly type: 'refused' } & Refusal)

/** Answers the request. Undefined if it is refused. */
export function acceptWebSocket(
  exchange: UpgradeExchange,
  supported: readonly string[],
): AcceptedWebSocket | undefined {
  const answer = answerHandshake(exchange, supported)
  if (answer.type === 'refused') return refuse(exchange, answer)
  const { protocol, headers } = answer
  if (exchange.hijack === undefined)
    return refuse(exchange, { status: 400, message: 'not websocket protocol' })
  const taken = exchange.hijack()
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  taken.connection.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('')}\r\n`)
  return { ...taken, protocol }
}

/** Sec-WebSocket-Accept value for a key. */
export function acceptanceOf(key: string): string {
  return createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
}
