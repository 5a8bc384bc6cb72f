/**
 * Memory that one segment after the other uses. As garbage it would count for as much as the objects of the API server
 * that are written meanwhile, and the garbage collector would run about twice as often.
 */
export class SegmentMemory {
  readonly #spare = new Map<number, ArrayBuffer[]>()
  #spareBytes = 0

  /** The content is undefined. */
  take(sizeBytes: number): ArrayBuffer {
    const spare = this.#spare.get(sizeBytes)?.pop()
    if (spare === undefined) return new ArrayBuffer(sizeBytes)
    this.#spareBytes -= sizeBytes
    return spare
  }

  /** It must not be used any more. */
  give(memory: ArrayBuffer): void {
    const { byteLength } = memory
    if (this.#spareBytes + byteLength > spareBytesMax) return
    this.#spareBytes += byteLength
    this.#spare.getOrInsertComputed(byteLength, () => []).push(memory)
  }
}

/** What a segment uses while much is written. */
const spareBytesMax = 6 * 1024 * 1024
