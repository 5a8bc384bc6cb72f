import type { Writable } from 'node:stream'

/**
 * Streams a request body without being awaited: a server may respond before it has read the whole body, and
 * closes the stream if it does not want the rest.
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

/** Ends the iterator; later errors are ignored. */
function giveUp(iterator: AsyncIterator<Uint8Array>, next: Promise<unknown>): void {
  next.catch(() => undefined)
  void Promise.resolve(iterator.return?.()).catch(() => undefined)
}
