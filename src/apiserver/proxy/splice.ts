import type { Duplex } from 'node:stream'
import type { UpgradedConnection } from '#/api/transport.ts'
import type { Clock } from '#/platform/platform.ts'

export interface SpliceOptions {
  readonly clock: Clock
  readonly client: UpgradedConnection
  readonly backend: Duplex
  /** What the backend has said already. */
  readonly backendHead: Uint8Array
}

/**
 * Makes one connection of two: each side gets what the other says, no faster than it reads. Resolves when both are
 * closed. When one has closed the other gets the rest of what it said, and is closed.
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
  // Who did not end in order has nobody to hear the rest. What the side that is left still says is for nobody, and has
  // to be read all the same: otherwise its end is never seen.
  if (gone.readableEnded) left.resume().end()
  else left.destroy()
  await closed(left)
  timer.cancel()
  signal.removeEventListener('abort', cut)
}

/** For how long the side that is left may read what it has not read yet. */
const lingerMs = 10_000

function closed(side: Duplex): Promise<Duplex> {
  return new Promise(resolve => {
    if (side.closed) resolve(side)
    else side.once('close', () => resolve(side))
  })
}
