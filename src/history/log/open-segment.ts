/**
 * The segment that records are added to. Values are first buffered in blocks, and after a block was encoded in a frame
 * kept compressed; the rest stays in memory.
 */
import type { RetainedSince } from '../history-log.ts'
import type { NewRecord, RangeRecord } from '../history-record.ts'
import { ChunkReader, type Chunk } from './chunk-reader.ts'
import { columnsBytes, EntryColumns, recordTypes } from './entry-columns.ts'
import { decodeTable, encodeTable } from './entry-table.ts'
import { encodeFrame, type DecodedFrame, type Frame } from './journal.ts'
import { RawBlock } from './raw-block.ts'
import { addDetails, decodeDetails, detailsLength } from './record-details.ts'
import type { SegmentMemory } from './segment-memory.ts'
import type { Segment, SegmentContent } from './segment.ts'

export interface CompressedChunk extends Chunk {
  readonly bytes: Uint8Array
}

export interface OpenSegmentOptions extends Pick<Segment, 'number' | 'base'> {
  readonly memory: SegmentMemory
}

export class OpenSegment implements Segment {
  readonly number: number
  readonly base: RetainedSince
  readonly isDamaged = false
  readonly columns: EntryColumns
  /** Of uids and origins. */
  readonly details: RawBlock[] = []
  /** Values that are in frames. */
  readonly chunks: CompressedChunk[] = []
  /** Values behind those; entries are added to the last block, unless it is closed. */
  readonly #blocks: ValueBlock[] = []
  /** What is in frames. */
  #stored = { entries: 0, keys: 0, detailsBytes: 0 }
  readonly #memory: SegmentMemory
  readonly #columnsMemory: ArrayBuffer
  #wasRead = false
  #sealed: Segment | undefined
  /** Size of the journal; 0 before it is created. */
  storedBytes = 0

  constructor({ number, base, memory }: OpenSegmentOptions) {
    this.number = number
    this.base = base
    this.#memory = memory
    this.#columnsMemory = memory.take(columnsBytes)
    this.columns = new EntryColumns(this.#columnsMemory)
  }

  get count(): number {
    return this.columns.count
  }

  /** Number of entries in frames. */
  get storedCount(): number {
    return this.#stored.entries
  }

  /** A frame is complete. */
  get hasFullBlock(): boolean {
    return this.#blocks.length > 1
  }

  /** Length of the stream of values. */
  get rawBytes(): number {
    return this.columns.valueBytes
  }

  get lastRevision(): number {
    return this.count === 0 ? this.base.revision : this.columns.lastRevision
  }

  get lastTimeMs(): number {
    return this.count === 0 ? this.base.timeMs : this.columns.lastTimeMs
  }

  get firstTimeMs(): number {
    return this.count === 0 ? this.base.timeMs : this.columns.firstTimeMs
  }

  get minTimeMs(): number {
    return this.columns.minTimeMs
  }

  /** The revision is not below those that were added, and there is room for an entry. */
  add(record: NewRecord): void {
    const { columns } = this
    const { revision, timeMs, key, type, value } = record
    const keyNumber = columns.keyNumber(key)
    const previous = keyNumber === undefined ? record.previous : undefined
    const previousLength = previous?.value.length ?? 0
    const block = this.#blockFor(previousLength + value.length)
    if (previous) block.add(previous.value)
    block.add(value)
    const length = detailsLength(record)
    addDetails(this.#detailsFor(length), record)
    columns.add({
      revision,
      timeMs: Math.floor(timeMs),
      key,
      keyNumber,
      type,
      previousRevision: previous?.revision ?? 0,
      previousLength,
      valueLength: value.length,
      detailsLength: length,
    })
    block.endEntry = columns.count
    block.endKey = columns.keys.length
  }

  /** Encodes the oldest buffered records; at least one must be buffered. */
  encodeFrame(): EncodedFrame {
    const block = this.#blocks[0]!
    block.isClosed = true
    const { endEntry, endKey } = block
    const { columns } = this
    const { entries, keys, detailsBytes } = this.#stored
    const table = encodeTable(columns, { firstEntry: entries, endEntry, firstKey: keys, endKey })
    const detailsEnd = endEntry === columns.count ? columns.detailsBytes : columns.detailsStarts[endEntry]!
    const details = this.details
      .filter(({ start, end }) => start < detailsEnd && end > detailsBytes)
      .map(each => each.part(detailsBytes, detailsEnd))
    const frame = encodeFrame({ table, details, values: block.content })
    return { ...frame, stored: { entries: endEntry, keys: endKey, detailsBytes: detailsEnd } }
  }

  /** The frame has been written: its values are no longer buffered. */
  commit(frame: EncodedFrame): void {
    const { memory } = this.#blocks.shift()!
    if (memory.byteLength === frameRawBytes) this.#memory.give(memory)
    this.#stored = frame.stored
    this.#addChunk(frame)
  }

  /** Adds a frame of the journal after a restart. */
  restore(frame: DecodedFrame): void {
    const { columns } = this
    const table = decodeTable(frame.table)
    const keys = [...columns.keys]
    let [keyAt, detailsAt, revision, timeMs] = [0, 0, 0, 0]
    for (const length of table.keyLengths) {
      keys.push(table.keyBytes.toString('utf8', keyAt, keyAt + length))
      keyAt += length
    }
    for (let entry = 0; entry < table.count; entry++) {
      revision += table.revisionDeltas[entry]!
      timeMs += table.timeDeltas[entry]!
      const delta = table.previousDeltas[entry]!
      const key = keys[table.keyNumbers[entry]!]!
      const detailsLength = table.detailsLengths[entry]!
      this.#detailsFor(detailsLength).add(frame.details.subarray(detailsAt, detailsAt + detailsLength))
      detailsAt += detailsLength
      columns.add({
        revision,
        timeMs,
        key,
        keyNumber: columns.keyNumber(key),
        type: recordTypes[table.types[entry]!]!,
        previousRevision: delta === 0 ? 0 : revision - delta,
        previousLength: table.previousLengths[entry]!,
        valueLength: table.valueLengths[entry]!,
        detailsLength,
      })
    }
    const { count, detailsBytes } = columns
    this.#stored = { entries: count, keys: columns.keys.length, detailsBytes }
    this.#addChunk({ ...frame, values: Uint8Array.from(frame.values) })
  }

  mayContain(key: string): boolean {
    return this.columns.keyNumber(key) !== undefined
  }

  /** Readers that have not opened the segment yet open the sealed one, which has the same entries. */
  release(sealed: Segment): void {
    this.#sealed = sealed
    if (this.#wasRead) return
    this.#memory.give(this.#columnsMemory)
    for (const { memory } of this.details)
      if (memory.byteLength === detailsBlockBytes) this.#memory.give(memory)
  }

  async open(): Promise<SegmentContent> {
    if (this.#sealed) return this.#sealed.open()
    this.#wasRead = true
    const { columns } = this
    const chunks = new ChunkReader(this.chunks, async ({ bytes }) => bytes)
    const read = async (start: number, length: number): Promise<Uint8Array> => {
      const block = this.#blocks.findLast(each => each.start <= start)
      // A block is used again when its values have been written.
      return block ? block.part(start, start + length).slice() : chunks.read({ start, length })
    }
    const readValue = (entry: number): Promise<Uint8Array> =>
      read(columns.valueStarts[entry]! + columns.previousLengths[entry]!, columns.valueLengths[entry]!)
    return {
      count: this.count,
      revision: entry => columns.revisions[entry]!,
      timeMs: entry => columns.times[entry]!,
      key: entry => columns.key(entry),
      type: entry => columns.type(entry),
      valueBytes: entry => columns.valueLengths[entry]!,
      previousRevision: entry => columns.previousRevisions[entry] || undefined,
      entriesOf: key => columns.entriesOf(key),
      withPrefix: prefix => this.#withPrefix(prefix),
      read: async (entry, { withValue }): Promise<RangeRecord> => ({
        revision: columns.revisions[entry]!,
        timeMs: columns.times[entry]!,
        key: columns.key(entry),
        type: columns.type(entry),
        ...decodeDetails(this.#detailsOf(entry)),
        value: withValue ? await readValue(entry) : undefined,
      }),
      readValue,
      readPrevious: entry => read(columns.valueStarts[entry]!, columns.previousLengths[entry]!),
    }
  }

  #blockFor(length: number): ValueBlock {
    const last = this.#blocks.at(-1)
    if (last && !last.isClosed && last.hasRoomFor(length)) return last
    const memory = this.#memory.take(Math.max(length, frameRawBytes))
    const block = new ValueBlock(this.columns.valueBytes, memory)
    this.#blocks.push(block)
    return block
  }

  #detailsFor(length: number): RawBlock {
    const last = this.details.at(-1)
    if (last?.hasRoomFor(length)) return last
    const memory = this.#memory.take(Math.max(length, detailsBlockBytes))
    const block = new RawBlock(this.columns.detailsBytes, memory)
    this.details.push(block)
    return block
  }

  #detailsOf(entry: number): Uint8Array {
    const start = this.columns.detailsStarts[entry]!
    const block = this.details.findLast(each => each.start <= start)!
    return block.part(start, start + this.columns.detailsLengths[entry]!)
  }

  #addChunk({ bytes, values, valuesRawLength }: Frame): void {
    const last = this.chunks.at(-1)
    const start = last ? last.start + last.rawLength : 0
    this.chunks.push({ start, rawLength: valuesRawLength, bytes: values })
    this.storedBytes += bytes.length
  }

  *#withPrefix(prefix: string): Generator<readonly [string, number[]], void, undefined> {
    const { columns } = this
    for (const key of columns.keys) if (key.startsWith(prefix)) yield [key, columns.entriesOf(key)]
  }
}

/** The size above which a frame is written at once, and which a frame exceeds only for one large value. */
export const frameRawBytes = 512 * 1024

const detailsBlockBytes = 256 * 1024

export interface EncodedFrame extends Frame {
  /** The segment up to the end of the frame. */
  readonly stored: { readonly entries: number; readonly keys: number; readonly detailsBytes: number }
}

class ValueBlock extends RawBlock {
  /** The segment up to the end of the block. */
  endEntry = 0
  endKey = 0
  /** A frame is made of it. */
  isClosed = false
}
