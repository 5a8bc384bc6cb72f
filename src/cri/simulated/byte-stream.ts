/** Buffer limit; writes wait while it is exceeded. */
const waitingBytesMax = 64 * 1_024

/** A pipe with one writer and one reader. */
export class ByteStream implements AsyncIterable<Uint8Array> {
  readonly #chunks: Uint8Array[] = []
  #waitingBytes = 0
  #hasEnded = false
  /** The reader is gone; writes are discarded. */
  #isAbandoned = false
  #wakeReader: (() => void) | undefined
  #wakeWriters: (() => void)[] = []

  /** Resolves when the buffer is below its limit. */
  async write(bytes: Uint8Array): Promise<void> {
    if (this.#hasEnded || this.#isAbandoned || bytes.length === 0) return
    this.#chunks.push(bytes)
    this.#waitingBytes += bytes.length
    this.#wakeReader?.()
    if (this.#waitingBytes < waitingBytesMax) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wakeWriters.push(resolve)
    await promise
  }

  end(): void {
    this.#hasEnded = true
    this.#wakeReader?.()
    this.#releaseWriters()
  }

  abandon(): void {
    this.#isAbandoned = true
    this.#chunks.length = 0
    this.end()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
    try {
      for (;;) {
        const chunk = this.#chunks.shift()
        if (chunk !== undefined) {
          this.#waitingBytes -= chunk.length
          if (this.#waitingBytes < waitingBytesMax) this.#releaseWriters()
          yield chunk
        } else if (this.#hasEnded) return
        else await this.#more()
      }
    } finally {
      this.abandon()
    }
  }

  async #more(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wakeReader = resolve
    await promise
    this.#wakeReader = undefined
  }

  #releaseWriters(): void {
    const writers = this.#wakeWriters
    this.#wakeWriters = []
    for (const wake of writers) wake()
  }
}
