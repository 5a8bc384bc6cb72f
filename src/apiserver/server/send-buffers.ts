/**
 * Buffers in which the pieces of large responses are joined. They are used again after they were sent: new ones for
 * every response would be the most frequent reason for garbage collections of the whole heap.
 */
export class SendBuffers {
  readonly #free: Buffer[] = []

  /** A buffer of at least this size, with arbitrary content. */
  take(sizeBytes: number): Buffer {
    if (sizeBytes > bufferBytes) return Buffer.allocUnsafeSlow(sizeBytes)
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(bufferBytes)
  }

  /** The buffer is no longer used by its previous owner. */
  give(buffer: Buffer): void {
    if (buffer.length === bufferBytes && this.#free.length < freeMax) this.#free.push(buffer)
  }
}

const bufferBytes = 256 * 1024

/** Enough for some responses at once; more are left to the garbage collector. */
const freeMax = 16
