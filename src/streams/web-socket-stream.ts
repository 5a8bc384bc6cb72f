/**
 * Sends a read-only stream over a WebSocket: one message per chunk, binary or base64 as requested. Messages
 * of the client are discarded; `onGone` is called when it disconnects.
 */
import type { HijackedConnection } from '#/platform/http.ts'
import type { Clock } from '#/platform/platform.ts'
import { UpgradedConnection } from './connection/upgraded-connection.ts'
import { WebSocket } from './web-socket.ts'

/** Binary if no subprotocol is requested. */
export const streamProtocols: readonly string[] = ['', 'binary.k8s.io', 'base64.binary.k8s.io']

export interface SendStreamOptions extends HijackedConnection {
  readonly clock: Clock
  /** One of `streamProtocols`. */
  readonly protocol: string
  readonly pieces: AsyncIterable<Uint8Array>
  /** Called when the client has disconnected or everything was sent. */
  readonly onGone: () => void
}

/** Resolves when the connection is closed; never rejects. */
export async function sendStream(options: SendStreamOptions): Promise<void> {
  const { connection, head, clock, protocol, pieces, onGone } = options
  const socket = new WebSocket({ connection: new UpgradedConnection({ connection, head, clock }) })
  const isText = protocol === 'base64.binary.k8s.io'
  socket.signal.addEventListener('abort', onGone, { once: true })
  const listening = listen(socket)
  try {
    for await (const piece of pieces) {
      if (piece.length === 0) continue
      await socket.send([isText ? Buffer.from(Buffer.from(piece).toString('base64')) : piece], { isText })
    }
    await socket.close()
  } catch {
    // Closes abruptly, because a truncated stream must not look complete.
    socket.destroy()
  }
  await listening
}

async function listen(socket: WebSocket): Promise<void> {
  try {
    for await (const _piece of socket.pieces()) continue
  } catch {
    // The error was reported to the peer.
  }
}
