/** The server side of a WebSocket of a browser. */
import { UpgradedConnection } from './connection/upgraded-connection.ts'
import type { UpgradeExchange } from './upgrade-exchange.ts'
import { acceptWebSocket } from './web-socket-handshake.ts'
import { WebSocket, type Heartbeat } from './web-socket.ts'

export interface WebSocketServerOptions {
  /** Subprotocols; the first that the client requests is selected. */
  readonly protocols: readonly string[]
  readonly heartbeat: Heartbeat
}

/** Answers the request. Undefined if it is refused. */
export function serveWebSocket(
  exchange: UpgradeExchange,
  { protocols, heartbeat }: WebSocketServerOptions,
): WebSocket | undefined {
  const accepted = acceptWebSocket(exchange, protocols)
  if (accepted === undefined) return undefined
  const { connection, head } = accepted
  const upgraded = new UpgradedConnection({ connection, head, clock: heartbeat.clock })
  return new WebSocket({ connection: upgraded, heartbeat })
}
