/**
 * Server side of port-forward: SPDY/3.1, SPDY/3.1 tunneled in a WebSocket, or the legacy WebSocket protocol
 * with a pair of channels per port. Each connection of the client is a `ForwardedConnection`.
 */
import type { Clock } from '#/platform/platform.ts'
import { UpgradedConnection } from './connection/upgraded-connection.ts'
import { StreamPairs } from './port-forward-server/pairs.ts'
import { readPorts } from './port-forward-server/ports.ts'
import { acceptSpdy, portForwardProtocol, spdyUpgrade } from './spdy-handshake.ts'
import { SpdyConnection } from './spdy.ts'
import type { PortForwardClient, ForwardedConnection } from './streams.ts'
import { refuse, type UpgradeExchange } from './upgrade-exchange.ts'
import { acceptWebSocket, isWebSocketRequest, requestedProtocols } from './web-socket-handshake.ts'
import { WebSocketTunnel } from './web-socket-tunnel.ts'
import { WebSocket } from './web-socket.ts'
import { AsyncQueue } from './connection/async-queue.ts'
import { WebSocketChannels } from './web-socket/channels.ts'

export interface AcceptPortForwardOptions {
  readonly exchange: UpgradeExchange
  /** The request's query, which lists the ports in the legacy protocol. */
  readonly query: URLSearchParams
  readonly clock: Clock
  /** The connection is closed after this time without traffic. No limit if absent. */
  readonly idleTimeoutMs?: number
  /** Time for a client to open the second stream of a pair; defaults to 30 s. */
  readonly streamCreationTimeoutMs?: number
}

const tunnelProtocol = `${spdyUpgrade}+${portForwardProtocol}`
const channelProtocols = ['v4.channel.k8s.io', 'v4.base64.channel.k8s.io', '']

const streamCreationTimeoutMsUsual = 30_000

/** Undefined if the client was refused. The exchange is answered in any case. */
export async function acceptPortForward(
  options: AcceptPortForwardOptions,
): Promise<PortForwardClient | undefined> {
  const { exchange } = options
  if (!isWebSocketRequest(exchange)) {
    const accepted = acceptSpdy(exchange, [portForwardProtocol])
    return accepted && forwardSpdy(upgradedConnection(options, accepted), options)
  }
  const isTunnel = requestedProtocols(exchange).some(each => each.startsWith(`${spdyUpgrade}+`))
  if (isTunnel) {
    const accepted = acceptWebSocket(exchange, [tunnelProtocol])
    if (accepted === undefined) return undefined
    const tunnel = new WebSocketTunnel(new WebSocket({ connection: upgradedConnection(options, accepted) }))
    return forwardSpdy(new UpgradedConnection({ connection: tunnel, clock: options.clock }), options)
  }
  const ports = readPorts(options.query)
  if (typeof ports === 'string') return refuse(exchange, { status: 400, message: ports })
  const accepted = acceptWebSocket(exchange, channelProtocols)
  if (accepted === undefined) return undefined
  const encoding = accepted.protocol.includes('base64') ? 'base64' : 'binary'
  return forwardChannels({
    socket: new WebSocket({ connection: upgradedConnection(options, accepted) }),
    encoding,
    ports,
  })
}

function upgradedConnection(
  { clock, idleTimeoutMs }: AcceptPortForwardOptions,
  { connection, head }: ReturnType<NonNullable<UpgradeExchange['hijack']>>,
): UpgradedConnection {
  return new UpgradedConnection({
    connection,
    head,
    clock,
    ...(idleTimeoutMs !== undefined && { idleTimeoutMs }),
  })
}

function forwardSpdy(
  upgraded: UpgradedConnection,
  { clock, streamCreationTimeoutMs }: AcceptPortForwardOptions,
): PortForwardClient {
  const pairs = new StreamPairs({ clock, timeoutMs: streamCreationTimeoutMs ?? streamCreationTimeoutMsUsual })
  const spdy = new SpdyConnection({
    connection: upgraded,
    clock,
    side: 'server',
    onStream: stream => pairs.add(stream),
  })
  void spdy.run().finally(() => pairs.end())
  return { connections: pairs.connections }
}

interface ChannelPortsOptions {
  readonly socket: WebSocket
  readonly encoding: 'binary' | 'base64'
  readonly ports: readonly number[]
}

/** Legacy protocol: exactly one connection to each port in the request. */
function forwardChannels({ socket, encoding, ports }: ChannelPortsOptions): PortForwardClient {
  const channels = new WebSocketChannels({ socket, encoding, hasHalfClose: false, count: ports.length * 2 })
  const connections = new AsyncQueue<ForwardedConnection>()
  let openCount = ports.length
  for (const [index, port] of ports.entries()) {
    const data = channels.at(index * 2)
    const error = channels.at(index * 2 + 1)
    // Both channels start with the port number.
    const name = Uint8Array.of(port & 0xff, port >> 8)
    void data.send(name)
    void error.send(name)
    error.resume()
    // The protocol cannot half-close.
    data.once('finish', () => data.destroy())
    data.once('disconnect', () => data.destroy())
    data.once('close', () => {
      openCount--
      if (openCount === 0) void error.sendAll().then(() => socket.close())
    })
    const fail = (message: string): void => {
      void error.send(Buffer.from(message))
      data.destroy()
    }
    connections.push({ port, data, fail })
  }
  void channels.run().finally(() => connections.end())
  return { connections }
}
