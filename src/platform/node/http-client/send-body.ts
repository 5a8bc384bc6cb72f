import type { Writable } from 'node:stream'

/**
 * Sends a body as it comes. It is not waited for: a server may answer before it has read everything, and closes
 * what it does not want to read.
 */
export function sendBody(
  outgoing: Writable,
  body: AsyncIterable<Uint8Array>,
  failed: (reason: unknown) => void,
): void {
  void pump(outgoing, body).catch(failed)
}

async function pump(outgoing: Writable, body: AsyncIterable<Uint8Array>): Promise<void> {
  const iterator = body[Symbol.asyncIterator]()
  const closed = new Promise<'closed'>(resolve => {
    if (outgoing.closed) resolve('closed')
    else outgoing.once('close', () => resolve('closed'))
  })
  for (;;) {
    const next = iterator.next()
    const result = await Promise.race([next, closed])
    if (result === 'closed' || outgoing.destroyed) return giveUp(iterator, next)
    if (result.done) return void outgoing.end()
    if (outgoing.write(result.value)) continue
    await Promise.race([closed, new Promise<void>(resolve => outgoing.once('drain', resolve))])
  }
}

/** Nobody is left to tell what goes wrong from here on. */
function giveUp(iterator: AsyncIterator<Uint8Array>, next: Promise<unknown>): void {
  next.catch(() => undefined)
  void Promise.resolve(iterator.return?.()).catch(() => undefined)
}
