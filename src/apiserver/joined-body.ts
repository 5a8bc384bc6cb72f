/**
 * The response body of a list: a start, the encoding of each object, and an end. A large one is encoded piece by piece
 * while it is sent, in time slices, so that it neither blocks the event loop nor is in memory as a whole for every
 * client.
 */
import type { Clock } from '#/platform/platform.ts'
import { TimeSlices } from '#/platform/time-slices.ts'
import { deflatePart, gzipParts } from './gzip.ts'
import { batchOf, joinBatch } from './piece-batch.ts'
import type { ListItemsCache, SharedItems, SharedList } from './registry/list-items-cache.ts'
import type { StoredObject } from './registry/stored-object.ts'
import type { GzipBody, Piece, PieceBatch, ValueBody } from './request.ts'

export interface ListFrame {
  readonly start: Uint8Array
  /** Pieces of one object, with separators. */
  readonly item: (stored: StoredObject, index: number) => readonly Piece[]
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
  readonly shared?: ShareOptions | undefined
}

interface ShareOptions {
  readonly cache: ListItemsCache
  readonly list: SharedList
}

export class JoinedBody implements ValueBody {
  readonly type = 'value'
  readonly mediaType: string
  /** Undefined for a small list. */
  readonly batches: (() => AsyncIterable<PieceBatch>) | undefined
  /** Present only for large lists that may be shared. */
  readonly gzip: (() => Promise<GzipBody | undefined>) | undefined
  readonly #options: JoinedBodyOptions

  constructor(options: JoinedBodyOptions) {
    this.#options = options
    this.mediaType = options.mediaType
    let sizeBytes = 0
    for (const stored of options.objects) sizeBytes += stored.readableBytes
    if (sizeBytes < largeBytesMin) return
    this.batches = () => this.#batches(sizeBytes)
    const { shared } = options
    if (shared) this.gzip = () => this.#gzip(shared, sizeBytes)
  }

  get value(): unknown {
    return this.#options.value()
  }

  bytes(): readonly Uint8Array[] {
    const { objects, prepare, frame } = this.#options
    if (prepare) objects.forEach(prepare)
    const { start, item, end } = frame()
    const items = new GrowingBatch()
    for (const [index, stored] of objects.entries()) items.add(item(stored, index))
    return [start, joinBatch(items), end]
  }

  async *#batches(sizeBytes: number): AsyncGenerator<PieceBatch, void, undefined> {
    const { clock, objects, prepare, frame, shared } = this.#options
    const slices = new TimeSlices(clock, 'encode list')
    for (const stored of prepare ? objects : []) {
      prepare?.(stored)
      const pause = slices.pause()
      if (pause) await pause
    }
    const { start, item, end } = frame()
    yield batchOf(start)
    const items = (): AsyncGenerator<PieceBatch, void, undefined> => this.#items(item)
    if (shared?.cache.isWorthCaching(shared.list, sizeBytes)) {
      const encode = async (): Promise<SharedItems> => ({ pieces: await Array.fromAsync(items(), joinBatch) })
      const { pieces } = await shared.cache.share(shared.list, encode)
      yield* pieces.map(batchOf)
    } else {
      yield* items()
    }
    yield batchOf(end)
  }

  async #gzip({ cache, list }: ShareOptions, sizeBytes: number): Promise<GzipBody | undefined> {
    const deflated = { ...list, form: `${list.form} deflated` }
    if (!cache.isWorthCaching(deflated, sizeBytes)) return undefined
    const { start, item, end } = this.#options.frame()
    const parts = await Promise.all([
      deflatePart([batchOf(start)]),
      cache.share(deflated, () => deflatePart(this.#items(item))),
      deflatePart([batchOf(end)]),
    ])
    return { pieces: gzipParts(parts), sizeBytes: parts.reduce((sum, part) => sum + part.sizeBytes, 0) }
  }

  async *#items(item: ListFrame['item']): AsyncGenerator<PieceBatch, void, undefined> {
    const { clock, objects } = this.#options
    const slices = new TimeSlices(clock, 'encode list')
    let batch = new GrowingBatch()
    for (const [index, stored] of objects.entries()) {
      batch.add(item(stored, index))
      if (batch.sizeBytes >= batchBytesMin) {
        yield batch
        batch = new GrowingBatch()
      }
      const pause = slices.pause()
      if (pause) await pause
    }
    if (batch.sizeBytes > 0) yield batch
  }
}

/** Smaller lists are encoded at once. Larger ones are also those that are compressed. */
const largeBytesMin = 128 * 1024

/** Items are collected until they are this large, because each write has a cost in the transport. */
const batchBytesMin = 192 * 1024

class GrowingBatch implements PieceBatch {
  readonly pieces: Piece[] = []
  sizeBytes = 0

  add(pieces: readonly Piece[]): void {
    for (const piece of pieces) {
      this.pieces.push(piece)
      this.sizeBytes += piece.length
    }
  }
}
