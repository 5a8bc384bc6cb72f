/**
 * Something that is only read, over a WebSocket: each piece is a message, of bytes or of base64, whichever the client
 * asked for. What the client sends is thrown away; when it goes, whatever made the pieces is told.
 */
import type { HijackedConnection } from '#/platform/http.ts'
import type { Clock } from '#/platform/platform.ts'
import { Wire } from './connection/wire.ts'
import { WebSocket } from './web-socket.ts'

/** Without a name it is bytes as well. */
export const readingProtocols: readonly string[] = ['', 'binary.k8s.io', 'base64.binary.k8s.io']

export interface SendReadingOptions extends HijackedConnection {
  readonly clock: Clock
  /** One of `readingProtocols`. */
  readonly protocol: string
  readonly pieces: AsyncIterable<Uint8Array>
  /** The client went away, or all was sent. */
  readonly onGone: () => void
}

/** Resolves when the connection is closed; never rejects. */
export async function sendReading(options: SendReadingOptions): Promise<void> {
  const { connection, head, clock, protocol, pieces, onGone } = options
  const socket = new WebSocket({ wire: new Wire({ connection, head, clock }) })
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
    // What breaks off is not to be taken for the whole.
    socket.destroy()
  }
  await listening
}

async function listen(socket: WebSocket): Promise<void> {
  try {
    for await (const _piece of socket.pieces()) continue
  } catch {
    // It broke the protocol, or the connection, and was told.
  }
}
