/** Opens a WebSocket to a server with one of Kubernetes' subprotocols. */
import type { HttpUpgraded } from '#/platform/http-client.ts'
import type { Random } from '#/platform/platform.ts'
import { UpgradedConnection } from './connection/upgraded-connection.ts'
import type { UpgradeOptions } from './spdy-client.ts'
import { UpgradeRefusedError, readRefusal } from './upgrade-refused-error.ts'
import { acceptanceOf } from './web-socket-handshake.ts'
import { WebSocket, type Heartbeat } from './web-socket.ts'

export interface OpenWebSocketOptions extends UpgradeOptions {
  readonly random: Random
  readonly protocol: string
  readonly heartbeat?: Heartbeat
}

/** Rejects with UpgradeRefusedError if the server refuses or answers anything but a WebSocket with this protocol. */
export async function openWebSocket(options: OpenWebSocketOptions): Promise<WebSocket> {
  const { http, clock, random, path, headers, signal, protocol, heartbeat } = options
  const key = Buffer.from(random.bytes('web-socket-key', 16)).toString('base64')
  const upgrade = await http.upgrade({
    method: 'GET',
    path,
    headers: {
      ...headers,
      'upgrade': 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': key,
      'sec-websocket-protocol': protocol,
    },
    ...(signal !== undefined && { signal }),
  })
  if (upgrade.type === 'refused') throw await readRefusal(upgrade.response)
  const { connection, head, status } = upgrade
  const problem = findProblem(upgrade, key, protocol)
  if (problem !== undefined) {
    connection.destroy()
    throw new UpgradeRefusedError({ status, body: '' }, problem)
  }
  return new WebSocket({
    connection: new UpgradedConnection({ connection, head, clock }),
    maskingKey: () => random.bytes('web-socket-mask', 4),
    ...(heartbeat !== undefined && { heartbeat }),
  })
}

function findProblem({ headers }: HttpUpgraded, key: string, protocol: string): string | undefined {
  const isWebSocket = headers['upgrade']?.toLowerCase() === 'websocket'
  if (!isWebSocket || headers['sec-websocket-accept'] !== acceptanceOf(key)) return 'websocket: bad handshake'
  const selected = headers['sec-websocket-protocol'] ?? ''
  return selected === protocol
    ? undefined
    : `invalid protocol, expected one of ["${protocol}"], got "${selected}"`
}
