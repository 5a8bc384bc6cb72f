/**
 * The server's end of port forwarding: SPDY/3.1, SPDY/3.1 inside of a WebSocket, or the old form of a WebSocket with a
 * pair of channels for each port. Each connection that the client asks for is a `ForwardedConnection`.
 */
import type { Clock } from '#/platform/platform.ts'
import { Wire } from './connection/wire.ts'
import { forwardChannels } from './port-forward-server/channel-ports.ts'
import { StreamPairs } from './port-forward-server/pairs.ts'
import { readPorts } from './port-forward-server/ports.ts'
import { acceptSpdy, spdyUpgrade } from './spdy-handshake.ts'
import { SpdyConnection } from './spdy.ts'
import type { PortForwardClient } from './streams.ts'
import { refuse, type UpgradeExchange } from './upgrade-exchange.ts'
import { acceptWebSocket, isWebSocketRequest, requestedProtocols } from './web-socket-handshake.ts'
import { WebSocketTunnel } from './web-socket-tunnel.ts'
import { WebSocket } from './web-socket.ts'

export interface AcceptPortForwardOptions {
  readonly exchange: UpgradeExchange
  /** Of the request: the old form names its ports there. */
  readonly query: URLSearchParams
  readonly clock: Clock
  /** A connection on which nothing was sent either way for so long is closed. Never when absent. */
  readonly idleTimeoutMs?: number
  /** How long a client may take to open the second of two streams: half a minute when absent. */
  readonly streamCreationTimeoutMs?: number
}

const portForwardProtocol = 'portforward.k8s.io'
const tunnelProtocol = `${spdyUpgrade}+${portForwardProtocol}`
const channelProtocols = ['v4.channel.k8s.io', 'v4.base64.channel.k8s.io', '']

const streamCreationTimeoutMsUsual = 30_000

/** Undefined when the client was refused, which it has been told. Answers the exchange in any case. */
export async function acceptPortForward(
  options: AcceptPortForwardOptions,
): Promise<PortForwardClient | undefined> {
  const { exchange } = options
  if (!isWebSocketRequest(exchange)) {
    const accepted = acceptSpdy(exchange, [portForwardProtocol])
    return accepted && forwardSpdy(wireOf(options, accepted), options)
  }
  const isTunnel = requestedProtocols(exchange).some(each => each.startsWith(`${spdyUpgrade}+`))
  if (isTunnel) {
    const accepted = acceptWebSocket(exchange, [tunnelProtocol])
    if (accepted === undefined) return undefined
    const tunnel = new WebSocketTunnel(new WebSocket({ wire: wireOf(options, accepted) }))
    return forwardSpdy(new Wire({ connection: tunnel, clock: options.clock }), options)
  }
  const ports = readPorts(options.query)
  if (typeof ports === 'string') return refuse(exchange, 400, ports)
  const accepted = acceptWebSocket(exchange, channelProtocols)
  if (accepted === undefined) return undefined
  const encoding = accepted.protocol.includes('base64') ? 'base64' : 'binary'
  return forwardChannels({ socket: new WebSocket({ wire: wireOf(options, accepted) }), encoding, ports })
}

function wireOf(
  { clock, idleTimeoutMs }: AcceptPortForwardOptions,
  { connection, head }: ReturnType<NonNullable<UpgradeExchange['hijack']>>,
): Wire {
  return new Wire({ connection, head, clock, ...(idleTimeoutMs !== undefined && { idleTimeoutMs }) })
}

function forwardSpdy(
  wire: Wire,
  { clock, streamCreationTimeoutMs }: AcceptPortForwardOptions,
): PortForwardClient {
  const pairs = new StreamPairs({ clock, timeoutMs: streamCreationTimeoutMs ?? streamCreationTimeoutMsUsual })
  const spdy = new SpdyConnection({ wire, clock, side: 'server', onStream: stream => pairs.add(stream) })
  void spdy.run().finally(() => pairs.end())
  return { connections: pairs.connections }
}
