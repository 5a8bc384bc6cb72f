import type { StoredObject } from './stored-object.ts'

/**
 * Bounds the memory of decoded objects: the cache keeps the stored bytes of every object, and only those decoded
 * objects that were used most recently.
 */
export class DecodedObjects {
  readonly #bytesMax: number
  /** The first ones are the next to be released, unless they were used since. */
  readonly #objects = new Set<StoredObject>()
  /** Stored size; decoded objects take several times as much. */
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  add(stored: StoredObject): void {
    if (this.#objects.has(stored)) return
    this.#objects.add(stored)
    this.#bytes += stored.sizeBytes
    for (const oldest of this.#objects) {
      if (this.#bytes <= this.#bytesMax) return
      if (oldest === stored) continue
      this.delete(oldest)
      if (oldest.takeUse()) {
        this.#objects.add(oldest)
        this.#bytes += oldest.sizeBytes
      } else {
        oldest.weakenDecoded()
      }
    }
  }

  delete(stored: StoredObject): void {
    if (this.#objects.delete(stored)) this.#bytes -= stored.sizeBytes
  }

  releaseAll(): void {
    for (const stored of this.#objects) stored.weakenDecoded()
    this.#objects.clear()
    this.#bytes = 0
  }
}
