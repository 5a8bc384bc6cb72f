import type { Duplex } from 'node:stream'
import type { UpgradedConnection } from '#/api/transport.ts'
import type { Clock } from '#/platform/platform.ts'

export interface SpliceOptions {
  readonly clock: Clock
  readonly client: UpgradedConnection
  readonly backend: Duplex
  /** Bytes already received from the backend. */
  readonly backendHead: Uint8Array
}

/**
 * Joins two connections in both directions with backpressure. When one side closes, the other receives the
 * remaining data and is closed. Resolves when both are closed.
 */
export async function splice({ clock, client, backend, backendHead }: SpliceOptions): Promise<void> {
  const { connection, head, signal } = client
  const cut = (): void => {
    connection.destroy()
    backend.destroy()
  }
  for (const side of [connection, backend]) side.on('error', () => undefined)
  signal.addEventListener('abort', cut, { once: true })
  if (signal.aborted) cut()
  if (head.length > 0) backend.write(head)
  if (backendHead.length > 0) connection.write(backendHead)
  connection.pipe(backend)
  backend.pipe(connection)
  const gone = await Promise.race([closed(connection), closed(backend)])
  const left = gone === connection ? backend : connection
  const timer = clock.setTimer(lingerMs, cut)
  // After an unclean end the other side is destroyed. Otherwise its input is still read and dropped, because
  // its end would never be seen without reading.
  if (gone.readableEnded) left.resume().end()
  else left.destroy()
  await closed(left)
  timer.cancel()
  signal.removeEventListener('abort', cut)
}

/** Time for the remaining side to read pending data. */
const lingerMs = 10_000

function closed(side: Duplex): Promise<Duplex> {
  return new Promise(resolve => {
    if (side.closed) resolve(side)
    else side.once('close', () => resolve(side))
  })
}
