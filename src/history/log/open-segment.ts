/**
 * The segment that records are added to. Entries are in memory; values are first buffered, and after they
 * were encoded in a frame kept compressed.
 */
import type { RetainedSince } from '../history-log.ts'
import type { NewRecord, RangeRecord } from '../history-record.ts'
import { ChunkReader, type Chunk } from './chunk-reader.ts'
import type { TableEntry } from './entry-table.ts'
import { encodeFrame, type DecodedFrame, type Frame } from './journal.ts'
import type { Segment, SegmentContent } from './segment.ts'

export interface CompressedChunk extends Chunk {
  readonly bytes: Uint8Array
}

export class OpenSegment implements Segment {
  readonly number: number
  readonly base: RetainedSince
  readonly isDamaged = false
  readonly #entries: OpenEntry[] = []
  /** The newest entry of each key. */
  readonly #newest = new Map<string, number>()
  readonly #chunks: CompressedChunk[] = []
  /** Of entries from `#storedCount` on. */
  #buffered: BufferedValue[] = []
  #storedCount = 0
  /** Length of the stream of values. */
  #rawBytes = 0
  #minTimeMs = Infinity
  /** Of values, origins and keys that are not in a frame. */
  bufferedBytes = 0
  /** Size of the journal; 0 before it is created. */
  storedBytes = 0

  constructor({ number, base }: Pick<Segment, 'number' | 'base'>) {
    this.number = number
    this.base = base
  }

  get count(): number {
    return this.#entries.length
  }

  get bufferedCount(): number {
    return this.#buffered.length
  }

  get rawBytes(): number {
    return this.#rawBytes
  }

  get entries(): readonly TableEntry[] {
    return this.#entries
  }

  get chunks(): readonly CompressedChunk[] {
    return this.#chunks
  }

  get lastRevision(): number {
    return this.#entries.at(-1)?.revision ?? this.base.revision
  }

  get lastTimeMs(): number {
    return this.#entries.at(-1)?.timeMs ?? this.base.timeMs
  }

  get firstTimeMs(): number {
    return this.#entries[0]?.timeMs ?? this.base.timeMs
  }

  get minTimeMs(): number {
    return this.#minTimeMs
  }

  /** The revision is above those that were added. */
  add(record: NewRecord): void {
    const { revision, timeMs, key, type, origin, value } = record
    const stored = this.#newest.has(key) ? undefined : record.previous
    this.#addEntry({
      revision,
      timeMs: Math.floor(timeMs),
      key,
      type,
      origin,
      previousRevision: stored?.revision,
      previousLength: stored?.value.length ?? 0,
      valueLength: value.length,
    })
    this.#buffered.push({ previous: stored?.value, value })
    this.bufferedBytes += (stored?.value.length ?? 0) + value.length + (origin?.length ?? 0) + key.length
  }

  /** Encodes buffered records, up to the size of a frame; at least one must be buffered. */
  encodeFrame(): EncodedFrame {
    let count = 0
    let sizeBytes = 0
    const values: Uint8Array[] = []
    for (const { previous, value } of this.#buffered) {
      const addedBytes = (previous?.length ?? 0) + value.length
      if (count > 0 && sizeBytes + addedBytes > frameRawBytes) break
      if (previous) values.push(previous)
      values.push(value)
      sizeBytes += addedBytes
      count++
    }
    const entries = this.#entries.slice(this.#storedCount, this.#storedCount + count)
    return { ...encodeFrame(entries, values), count }
  }

  /** The frame has been written: its values are no longer buffered. */
  commit(frame: EncodedFrame): void {
    this.#buffered = this.#buffered.slice(frame.count)
    this.#storedCount += frame.count
    if (this.#buffered.length === 0) this.bufferedBytes = 0
    else this.bufferedBytes = Math.max(0, this.bufferedBytes - frame.valuesRawLength)
    this.#addChunk(frame)
  }

  /** Adds a frame of the journal after a restart. */
  restore(frame: DecodedFrame): void {
    const { table, origins } = frame
    for (let entry = 0; entry < table.count; entry++) {
      const origin = table.origin(entry)
      this.#addEntry({
        revision: table.revisions[entry]!,
        timeMs: table.timeMs(entry),
        key: table.key(entry),
        type: table.type(entry),
        origin: origin && origins.slice(origin.start, origin.start + origin.length),
        previousRevision: table.previousRevision(entry),
        previousLength: table.previous(entry).length,
        valueLength: table.value(entry).length,
      })
    }
    this.#storedCount += table.count
    this.#addChunk({ ...frame, values: Uint8Array.from(frame.values) })
  }

  mayContain(key: string): boolean {
    return this.#newest.has(key)
  }

  async open(): Promise<SegmentContent> {
    const chunks = new ChunkReader(this.#chunks, async ({ bytes }) => bytes)
    const entryAt = (entry: number): OpenEntry => this.#entries[entry]!
    const readValue = async (entry: number): Promise<Uint8Array> => {
      const { start, previousLength, valueLength } = entryAt(entry)
      const buffered = this.#buffered[entry - this.#storedCount]
      return buffered?.value ?? chunks.read({ start: start + previousLength, length: valueLength })
    }
    return {
      count: this.#entries.length,
      revision: entry => entryAt(entry).revision,
      timeMs: entry => entryAt(entry).timeMs,
      key: entry => entryAt(entry).key,
      type: entry => entryAt(entry).type,
      valueBytes: entry => entryAt(entry).valueLength,
      previousRevision: entry => entryAt(entry).previousRevision,
      entriesOf: key => this.#entriesOf(key),
      withPrefix: prefix => this.#withPrefix(prefix),
      read: async (entry, { withValue }): Promise<RangeRecord> => {
        const { revision, timeMs, key, type, origin } = entryAt(entry)
        return { revision, timeMs, key, type, origin, value: withValue ? await readValue(entry) : undefined }
      },
      readValue,
      readPrevious: async entry => {
        const { start, previousLength } = entryAt(entry)
        const buffered = this.#buffered[entry - this.#storedCount]
        return buffered?.previous ?? chunks.read({ start, length: previousLength })
      },
    }
  }

  #addEntry(entry: TableEntry): void {
    const older = this.#newest.get(entry.key)
    this.#newest.set(entry.key, this.#entries.length)
    this.#entries.push({ ...entry, start: this.#rawBytes, older })
    this.#rawBytes += entry.previousLength + entry.valueLength
    this.#minTimeMs = Math.min(this.#minTimeMs, entry.timeMs)
  }

  #addChunk({ bytes, values, valuesRawLength }: Frame): void {
    const last = this.#chunks.at(-1)
    const start = last ? last.start + last.rawLength : 0
    this.#chunks.push({ start, rawLength: valuesRawLength, bytes: values })
    this.storedBytes += bytes.length
  }

  #entriesOf(key: string): number[] {
    const entries: number[] = []
    for (let at = this.#newest.get(key); at !== undefined; at = this.#entries[at]!.older) entries.push(at)
    return entries.reverse()
  }

  *#withPrefix(prefix: string): Generator<readonly [string, number[]], void, undefined> {
    for (const key of this.#newest.keys()) if (key.startsWith(prefix)) yield [key, this.#entriesOf(key)]
  }
}

/** The size above which a frame is written at once, and which a frame exceeds only for one large value. */
export const frameRawBytes = 256 * 1024

export interface EncodedFrame extends Frame {
  readonly count: number
}

interface OpenEntry extends TableEntry {
  /** In the stream of values: of the previous value, which the value follows. */
  readonly start: number
  /** The entry of the same key before. */
  readonly older: number | undefined
}

interface BufferedValue {
  readonly previous: Uint8Array | undefined
  readonly value: Uint8Array
}
