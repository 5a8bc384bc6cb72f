/** Reads parts of a stream that is compressed in chunks. An extent is always inside of one chunk. */
import type { Extent } from './entry-table.ts'
import { decompress } from './compression.ts'

export interface Chunk {
  /** Position in the stream. */
  readonly start: number
  readonly rawLength: number
}

/** Keeps the chunks that it has read: use one for one operation. */
export class ChunkReader<C extends Chunk> {
  readonly #chunks: readonly C[]
  readonly #load: (chunk: C) => Promise<Uint8Array>
  readonly #raw = new Map<C, Uint8Array>()

  /** `load` returns the compressed bytes of a chunk. */
  constructor(chunks: readonly C[], load: (chunk: C) => Promise<Uint8Array>) {
    this.#chunks = chunks
    this.#load = load
  }

  async read({ start, length }: Extent): Promise<Uint8Array> {
    if (length === 0) return new Uint8Array()
    const chunk = this.#holding(start)
    let raw = this.#raw.get(chunk)
    if (raw === undefined) {
      raw = decompress(await this.#load(chunk), chunk.rawLength)
      this.#raw.set(chunk, raw)
    }
    return raw.subarray(start - chunk.start, start - chunk.start + length)
  }

  #holding(position: number): C {
    let low = 0
    let high = this.#chunks.length - 1
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if (this.#chunks[middle]!.start <= position) low = middle
      else high = middle - 1
    }
    const chunk = this.#chunks[low]
    if (chunk === undefined || position >= chunk.start + chunk.rawLength)
      throw new Error(`no chunk has position ${position}`)
    return chunk
  }
}
