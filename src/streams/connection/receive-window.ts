/**
 * Limit of received bytes on a connection that wait for a reader, over all its streams. The protocols have no
 * per-stream flow control, or peers ignore it: at the limit the connection is not read, and one stream
 * without a reader blocks the others, as in Kubernetes' own servers.
 */
export const unreadBytesMax = 1024 * 1024

export class ReceiveWindow {
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

  /**
   * Resolves when the connection may be read or is aborted. Supports a single waiter, the reader of the
   * connection.
   */
  async untilReadable(signal: AbortSignal): Promise<void> {
    if (this.#bytes < unreadBytesMax || signal.aborted) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting = resolve
    const abort = (): void => resolve()
    signal.addEventListener('abort', abort, { once: true })
    await promise
    signal.removeEventListener('abort', abort)
  }
}
