/**
 * Bytes that have come over a connection for any of its streams and wait for a reader. The protocols here have no
 * windows for each stream, or nobody keeps to them: at the bound the connection is not read any further, and one stream
 * that nobody reads holds up the others, as it does with every other server of Kubernetes.
 */
export const unreadBytesMax = 1024 * 1024

export class UnreadBytes {
  #bytes = 0
  #waiting: (() => void) | undefined

  get bytes(): number {
    return this.#bytes
  }

  add(bytes: number): void {
    this.#bytes += bytes
  }

  release(bytes: number): void {
    this.#bytes -= bytes
    if (this.#bytes >= unreadBytesMax) return
    this.#waiting?.()
    this.#waiting = undefined
  }

  /** Resolves when more may be read, or nobody will. Only one may wait: who reads the connection. */
  async room(signal: AbortSignal): Promise<void> {
    if (this.#bytes < unreadBytesMax || signal.aborted) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting = resolve
    const abort = (): void => resolve()
    signal.addEventListener('abort', abort, { once: true })
    await promise
    signal.removeEventListener('abort', abort)
  }
}
