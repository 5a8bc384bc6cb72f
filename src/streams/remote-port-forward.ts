/**
 * Client side of port-forward, towards an API server: SPDY/3.1 tunneled in a WebSocket, or SPDY/3.1 alone if the server
 * or a proxy before it does not upgrade to WebSocket. One connection carries any number of connections to ports.
 */
import { untilAborted } from '#/base/abort.ts'
import type { Random } from '#/platform/platform.ts'
import { UpgradedConnection } from './connection/upgraded-connection.ts'
import { openForwardedPort, type OpenedPort } from './port-forward-client.ts'
import { openSpdy, type UpgradeOptions } from './spdy-client.ts'
import { portForwardProtocol, spdyUpgrade } from './spdy-handshake.ts'
import { SpdyConnection } from './spdy.ts'
import { UpgradeRefusedError } from './upgrade-refused-error.ts'
import { openWebSocket } from './web-socket-client.ts'
import { WebSocketTunnel } from './web-socket-tunnel.ts'

export interface ConnectRemotePortForwardOptions extends UpgradeOptions {
  readonly random: Random
  /** Uses only SPDY when false. */
  readonly webSocket?: boolean
}

export interface RemotePortForward extends AsyncDisposable {
  /** Opens a connection to a port of the pod. That nothing listens on it is a later failure. */
  open(port: number): Promise<OpenedPort>
  /** Resolves when the connection to the server has ended, for any reason. */
  readonly closed: Promise<void>
}

/** Rejects with UpgradeRefusedError if the server refuses both protocols, with the answer to the second request. */
export async function connectRemotePortForward(
  options: ConnectRemotePortForwardOptions,
): Promise<RemotePortForward> {
  const spdy = await connect(options)
  let nextRequestId = 0
  return {
    open: port => openForwardedPort(spdy, { port, requestId: nextRequestId++ }),
    closed: untilAborted(spdy.signal),
    [Symbol.asyncDispose]: async () => spdy.destroy(),
  }
}

async function connect(options: ConnectRemotePortForwardOptions): Promise<SpdyConnection> {
  if (options.webSocket === false) return connectBySpdy(options)
  try {
    return await connectByTunnel(options)
  } catch (error) {
    if (error instanceof UpgradeRefusedError) return connectBySpdy(options)
    throw error
  }
}

const tunnelPingIntervalMs = 10_000
const pingIntervalMs = 5_000

async function connectByTunnel(options: ConnectRemotePortForwardOptions): Promise<SpdyConnection> {
  const { clock } = options
  const socket = await openWebSocket({ ...options, protocol: `${spdyUpgrade}+${portForwardProtocol}` })
  const connection = new UpgradedConnection({ connection: new WebSocketTunnel(socket), clock })
  const spdy = new SpdyConnection({ connection, clock, side: 'client', pingIntervalMs: tunnelPingIntervalMs })
  void spdy.run()
  return spdy
}

function connectBySpdy(options: ConnectRemotePortForwardOptions): Promise<SpdyConnection> {
  return openSpdy({ ...options, protocols: [portForwardProtocol], pingIntervalMs }, async spdy => spdy)
}
