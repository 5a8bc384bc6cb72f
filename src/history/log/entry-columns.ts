/**
 * The entries of a segment without their bytes, as columns of a fixed capacity: nothing is allocated for an entry,
 * which keeps the garbage collector out of the writes of the API.
 */
import type { RecordType } from '../history-record.ts'

/** Entries are in ascending order of revision. */
export interface NewEntry {
  readonly revision: number
  /** A whole number. */
  readonly timeMs: number
  readonly key: string
  /** Undefined for the first entry of the key. */
  readonly keyNumber: number | undefined
  readonly type: RecordType
  /** 0 if the key was created, or an earlier entry of the segment is about it. */
  readonly previousRevision: number
  readonly previousLength: number
  readonly valueLength: number
  readonly detailsLength: number
}

export class EntryColumns {
  count = 0
  /** Distinct, in order of their first entry. */
  readonly keys: string[] = []
  readonly revisions: Float64Array
  readonly times: Float64Array
  readonly previousRevisions: Float64Array
  /** Positions in the stream of values; the previous value of an entry is before its value. */
  readonly valueStarts: Float64Array
  /** Positions in the stream of details. */
  readonly detailsStarts: Float64Array
  readonly keyNumbers: Uint32Array
  readonly valueLengths: Uint32Array
  readonly previousLengths: Uint32Array
  readonly detailsLengths: Uint32Array
  /** Indexes of `recordTypes`. */
  readonly types: Uint8Array
  /** Lengths of the streams. */
  valueBytes = 0
  detailsBytes = 0
  minTimeMs = Infinity
  /** Of no meaning while there are no entries. */
  firstTimeMs = 0
  lastTimeMs = 0
  lastRevision = 0
  readonly #numberOfKey = new Map<string, number>()
  /** The entry of the same key before, and the newest one of each key; -1 if there is none. */
  readonly #older: Int32Array
  readonly #newest: Int32Array

  /** `memory` has `columnsBytes`, and any content. */
  constructor(memory: ArrayBuffer) {
    const capacity = segmentRecords
    let at = 0
    const place = (width: number): [ArrayBuffer, number, number] => {
      at += capacity * width
      return [memory, at - capacity * width, capacity]
    }
    this.revisions = new Float64Array(...place(8))
    this.times = new Float64Array(...place(8))
    this.previousRevisions = new Float64Array(...place(8))
    this.valueStarts = new Float64Array(...place(8))
    this.detailsStarts = new Float64Array(...place(8))
    this.keyNumbers = new Uint32Array(...place(4))
    this.valueLengths = new Uint32Array(...place(4))
    this.previousLengths = new Uint32Array(...place(4))
    this.detailsLengths = new Uint32Array(...place(4))
    this.#older = new Int32Array(...place(4))
    this.#newest = new Int32Array(...place(4))
    this.types = new Uint8Array(...place(1))
  }

  /** In the order of first entries; undefined if there is no entry of the key. */
  keyNumber(key: string): number | undefined {
    return this.#numberOfKey.get(key)
  }

  add(entry: NewEntry): void {
    const at = this.count++
    const number = entry.keyNumber ?? this.#addKey(entry.key)
    this.revisions[at] = entry.revision
    this.times[at] = entry.timeMs
    this.previousRevisions[at] = entry.previousRevision
    this.keyNumbers[at] = number
    this.valueLengths[at] = entry.valueLength
    this.previousLengths[at] = entry.previousLength
    this.detailsLengths[at] = entry.detailsLength
    this.types[at] = recordTypes.indexOf(entry.type)
    this.valueStarts[at] = this.valueBytes
    this.detailsStarts[at] = this.detailsBytes
    this.#older[at] = this.#newest[number]!
    this.#newest[number] = at
    this.valueBytes += entry.previousLength + entry.valueLength
    this.detailsBytes += entry.detailsLength
    if (entry.timeMs < this.minTimeMs) this.minTimeMs = entry.timeMs
    if (at === 0) this.firstTimeMs = entry.timeMs
    this.lastTimeMs = entry.timeMs
    this.lastRevision = entry.revision
  }

  key(entry: number): string {
    return this.keys[this.keyNumbers[entry]!]!
  }

  type(entry: number): RecordType {
    return recordTypes[this.types[entry]!]!
  }

  /** Ascending. */
  entriesOf(key: string): number[] {
    const number = this.#numberOfKey.get(key)
    const entries: number[] = []
    if (number === undefined) return entries
    for (let at = this.#newest[number]!; at >= 0; at = this.#older[at]!) entries.push(at)
    return entries.reverse()
  }

  #addKey(key: string): number {
    const number = this.keys.push(key) - 1
    this.#numberOfKey.set(key, number)
    this.#newest[number] = -1
    return number
  }
}

/** Positions are part of the encoding. */
export const recordTypes: readonly RecordType[] = ['MODIFIED', 'ADDED', 'DELETED']

/** Maximum number of entries of a segment, which bounds the size of its index in memory. */
export const segmentRecords = 8_192

export const columnsBytes = segmentRecords * (5 * 8 + 6 * 4 + 1)
