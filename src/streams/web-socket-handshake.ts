/** The handshake of a WebSocket over HTTP/1.1 (RFC 6455, 4), at both sides. */
import { createHash } from 'node:crypto'
import type { TakenConnection } from '#/platform/http.ts'
import { refuse, type UpgradeExchange } from './upgrade-exchange.ts'

export interface AcceptedWebSocket extends TakenConnection {
  /** The one that was chosen; empty when the client named none. */
  readonly protocol: string
}

/** Whether a request asks for a WebSocket, well or badly. */
export function isWebSocketRequest({ headers }: Pick<UpgradeExchange, 'headers'>): boolean {
  return headers['upgrade']?.toLowerCase() === 'websocket' && /\bupgrade\b/i.test(headers['connection'] ?? '')
}

/** The protocols that a client names, what it likes best first. */
export function requestedProtocols(exchange: Pick<UpgradeExchange, 'headerValues'>): string[] {
  return exchange
    .headerValues('sec-websocket-protocol')
    .flatMap(value => value.split(','))
    .map(protocol => protocol.trim())
    .filter(protocol => protocol !== '')
}

/** Answers the request. Undefined when it is refused; an empty protocol among those supported stands for none. */
export function acceptWebSocket(
  exchange: UpgradeExchange,
  supported: readonly string[],
): AcceptedWebSocket | undefined {
  const { method, headers, takeOver } = exchange
  if (method !== 'GET') return refuse(exchange, 405, 'bad method')
  const key = headers['sec-websocket-key'] ?? ''
  if (headers['sec-websocket-version'] !== '13')
    return refuse(exchange, 400, 'missing or bad WebSocket Version', { 'sec-websocket-version': '13' })
  if (!/^[A-Za-z0-9+/]{22}==$/.test(key)) return refuse(exchange, 400, 'mismatch challenge/response')
  const requested = requestedProtocols(exchange)
  const protocol = (requested.length > 0 ? requested : ['']).find(each => supported.includes(each))
  if (protocol === undefined) {
    const text = `requested protocol(s) are not supported: [${requested.join(' ')}]; supports [${supported.join(' ')}]`
    return refuse(exchange, 403, text)
  }
  if (takeOver === undefined) return refuse(exchange, 400, 'not websocket protocol')
  const taken = takeOver()
  taken.connection.write(
    [
      'HTTP/1.1 101 Switching Protocols',
      'Upgrade: websocket',
      'Connection: Upgrade',
      `Sec-WebSocket-Accept: ${acceptanceOf(key)}`,
      ...(protocol === '' ? [] : [`Sec-WebSocket-Protocol: ${protocol}`]),
      '\r\n',
    ].join('\r\n'),
  )
  return { ...taken, protocol }
}

/** What proves that the server understood the key. */
function acceptanceOf(key: string): string {
  return createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
}
