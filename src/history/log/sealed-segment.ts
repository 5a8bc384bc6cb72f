/** A segment that does not change any more. Its index is loaded when it is needed. */
import type { LruMap } from '#/base/lru-map.ts'
import type { ReadFile } from '#/platform/platform.ts'
import type { RetainedSince } from '../history-log.ts'
import type { RangeRecord } from '../history-record.ts'
import { ChunkReader } from './chunk-reader.ts'
import { keyHash, type EntryTable } from './entry-table.ts'
import { decodeDetails } from './record-details.ts'
import type { Segment, SegmentContent } from './segment.ts'
import {
  readIndex,
  readVerified,
  type FileChunk,
  type SegmentIndex,
  type SegmentTrailer,
} from './segment-file.ts'

export interface SealedSegmentOptions {
  readonly number: number
  readonly sizeBytes: number
  readonly trailer: SegmentTrailer
  readonly openRead: () => Promise<ReadFile>
  /** Of all segments. */
  readonly indexes: LruMap<number, SegmentIndex>
}

export class SealedSegment implements Segment {
  readonly number: number
  readonly sizeBytes: number
  readonly base: RetainedSince
  readonly lastRevision: number
  readonly lastTimeMs: number
  readonly minTimeMs: number
  isDamaged = false
  readonly #options: SealedSegmentOptions
  /** Of the keys; known after the index was loaded once, and kept. */
  #keyHashes: Uint32Array | undefined

  constructor(options: SealedSegmentOptions) {
    this.#options = options
    this.number = options.number
    this.sizeBytes = options.sizeBytes
    this.base = options.trailer.base
    this.lastRevision = options.trailer.lastRevision
    this.lastTimeMs = options.trailer.lastTimeMs
    this.minTimeMs = options.trailer.minTimeMs
  }

  mayContain(key: string): boolean {
    return this.#keyHashes?.includes(keyHash(key)) ?? true
  }

  async open(): Promise<SegmentContent> {
    const { values, details, table } = await this.#index()
    return content(table, { values: this.#reader(values), details: this.#reader(details) })
  }

  async #index(): Promise<SegmentIndex> {
    const { number, indexes, trailer } = this.#options
    const known = indexes.get(number)
    if (known) return known
    await using file = await this.#options.openRead()
    const index = readIndex(file, trailer)
    indexes.set(number, index)
    this.#keyHashes ??= Uint32Array.from(index.table.hashes)
    return index
  }

  #reader(chunks: readonly FileChunk[]): ChunkReader<FileChunk> {
    return new ChunkReader(chunks, async chunk => {
      await using file = await this.#options.openRead()
      return readVerified(file, chunk)
    })
  }
}

interface Readers {
  readonly values: ChunkReader<FileChunk>
  readonly details: ChunkReader<FileChunk>
}

function content(table: EntryTable, { values, details }: Readers): SegmentContent {
  return {
    count: table.count,
    revision: entry => table.revisions[entry]!,
    timeMs: entry => table.timeMs(entry),
    key: entry => table.key(entry),
    type: entry => table.type(entry),
    valueBytes: entry => table.value(entry).length,
    previousRevision: entry => table.previousRevision(entry),
    entriesOf: key => table.entriesOf(key),
    withPrefix: prefix => table.withPrefix(prefix),
    read: async (entry, { withValue }): Promise<RangeRecord> => ({
      revision: table.revisions[entry]!,
      timeMs: table.timeMs(entry),
      key: table.key(entry),
      type: table.type(entry),
      ...decodeDetails(await details.read(table.details(entry))),
      value: withValue ? await values.read(table.value(entry)) : undefined,
    }),
    readValue: entry => values.read(table.value(entry)),
    readPrevious: entry => values.read(table.previous(entry)),
  }
}
