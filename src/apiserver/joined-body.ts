/**
 * The response body of a list: a start, the encoding of each object, and an end. A large one is encoded piece by piece
 * while it is sent, in time slices, so that it neither blocks the event loop nor is in memory as a whole for every
 * client.
 */
import type { Clock } from '#/platform/platform.ts'
import { TimeSlices } from '#/platform/time-slices.ts'
import type { ListItemsCache, SharedList } from './registry/list-items-cache.ts'
import type { StoredObject } from './registry/stored-object.ts'
import type { ValueBody } from './request.ts'

export interface ListFrame {
  readonly start: Uint8Array
  /** Pieces of one object, with separators. */
  readonly item: (stored: StoredObject, index: number) => readonly Uint8Array[]
  readonly end: Uint8Array
}

export interface JoinedBodyOptions {
  readonly clock: Clock
  readonly mediaType: string
  readonly objects: readonly StoredObject[]
  readonly value: () => unknown
  /**
   * Called before the objects are encoded, for formats whose start depends on their encodings: it encodes them, each
   * of which is cached.
   */
  readonly prepare?: (stored: StoredObject) => void
  readonly frame: () => ListFrame
  /** Set if the items of the list may be shared with other requests. */
  readonly shared?: { readonly cache: ListItemsCache; readonly list: SharedList } | undefined
}

export class JoinedBody implements ValueBody {
  readonly type = 'value'
  readonly mediaType: string
  /** Undefined for a small list. */
  readonly pieces: (() => AsyncIterable<Uint8Array>) | undefined
  readonly #options: JoinedBodyOptions

  constructor(options: JoinedBodyOptions) {
    this.#options = options
    this.mediaType = options.mediaType
    let sizeBytes = 0
    for (const stored of options.objects) sizeBytes += stored.readableBytes
    if (sizeBytes >= largeBytesMin) this.pieces = () => this.#pieces(sizeBytes)
  }

  get value(): unknown {
    return this.#options.value()
  }

  bytes(): readonly Uint8Array[] {
    const { objects, prepare, frame } = this.#options
    if (prepare) objects.forEach(prepare)
    const { start, item, end } = frame()
    const blocks = new Blocks()
    for (const [index, stored] of objects.entries()) blocks.add(item(stored, index))
    blocks.finish()
    return [start, ...blocks.take(), end]
  }

  async *#pieces(sizeBytes: number): AsyncGenerator<Uint8Array, void, undefined> {
    const { clock, objects, prepare, frame, shared } = this.#options
    const slices = new TimeSlices(clock)
    for (const stored of prepare ? objects : []) {
      prepare?.(stored)
      const pause = slices.pause()
      if (pause) await pause
    }
    const { start, item, end } = frame()
    yield start
    const items = (): AsyncGenerator<Uint8Array, void, undefined> => this.#items(item)
    const isShared = shared !== undefined && shared.cache.isCacheable(sizeBytes)
    yield* isShared ? await shared.cache.share(shared.list, () => Array.fromAsync(items())) : items()
    yield end
  }

  async *#items(item: ListFrame['item']): AsyncGenerator<Uint8Array, void, undefined> {
    const { clock, objects } = this.#options
    const slices = new TimeSlices(clock)
    const blocks = new Blocks()
    for (const [index, stored] of objects.entries()) {
      blocks.add(item(stored, index))
      yield* blocks.take()
      const pause = slices.pause()
      if (pause) await pause
    }
    blocks.finish()
    yield* blocks.take()
  }
}

/** Smaller lists are encoded at once. Larger ones are also those that are compressed. */
const largeBytesMin = 128 * 1024

/** Joins small pieces into large blocks, because each piece has a cost in the transport. */
class Blocks {
  #finished: Uint8Array[] = []
  #block = Buffer.allocUnsafe(0)
  #used = 0

  add(pieces: readonly Uint8Array[]): void {
    for (const piece of pieces) {
      if (this.#used + piece.length > this.#block.length) {
        this.finish()
        this.#block = Buffer.allocUnsafe(Math.max(blockBytes, piece.length))
      }
      this.#block.set(piece, this.#used)
      this.#used += piece.length
    }
  }

  finish(): void {
    if (this.#used > 0) this.#finished.push(this.#block.subarray(0, this.#used))
    this.#block = Buffer.allocUnsafe(0)
    this.#used = 0
  }

  /** The finished blocks. */
  take(): readonly Uint8Array[] {
    if (this.#finished.length === 0) return none
    const taken = this.#finished
    this.#finished = []
    return taken
  }
}

const none: readonly Uint8Array[] = []

const blockBytes = 256 * 1024
