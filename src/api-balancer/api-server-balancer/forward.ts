import type { Duplex } from 'node:stream'
import type { Clock, Timer } from '#/platform/platform.ts'

export interface ForwardOptions {
  readonly client: Duplex
  readonly server: Duplex
  readonly clock: Clock
  /** Data from the server; `isFirst` once for each connection. */
  readonly onData: (isFirst: boolean) => void
  /** The server has accepted the connection and data of the client, but does not answer. */
  readonly onUnresponsive: () => void
  readonly onClose: () => void
}

/**
 * Time for the first data of the server after the first data of the client: a TLS server answers the ClientHello.
 * The kernel of a host accepts connections for a process that hangs, too.
 */
const firstDataTimeoutMs = 10_000

/** Time to send the rest of the data after the other side has been closed properly. */
const lingerMs = 30_000

/**
 * Copies data in both directions until both are closed. Each direction ends by itself, so that half-closed connections
 * work, and reading pauses while the other side does not take the data. An error of one side closes the other at once.
 * Neither side may be destroyed yet.
 */
export function forward({ client, server, clock, onData, onUnresponsive, onClose }: ForwardOptions): void {
  let timer: Timer | undefined
  let hasAnswered = false
  const closeTogether = (side: Duplex, other: Duplex): void => {
    timer?.cancel()
    if (other.closed) return onClose()
    const isComplete = side.readableEnded && side.writableFinished
    if (isComplete && !other.destroyed) timer = clock.setTimer(lingerMs, () => void other.destroy())
    else other.destroy()
  }
  client.once('close', () => closeTogether(client, server))
  server.once('close', () => closeTogether(server, client))
  server.on('data', () => {
    if (!hasAnswered) timer?.cancel()
    onData(!hasAnswered)
    hasAnswered = true
  })
  client.once('data', () => {
    if (hasAnswered) return
    timer = clock.setTimer(firstDataTimeoutMs, () => {
      onUnresponsive()
      server.destroy()
    })
  })
  client.pipe(server)
  server.pipe(client)
}
