/**
 * The entries of a segment without values and details, as encoded columns: nothing is parsed when the table is
 * loaded, and equal values stand side by side, so that it compresses well. Numbers are little-endian, as the
 * CPU's.
 */
import type { RecordType } from '../history-record.ts'
import { recordTypes, type EntryColumns } from './entry-columns.ts'

/** A part of a stream of bytes. */
export interface Extent {
  readonly start: number
  readonly length: number
}

export class EntryTable {
  readonly count: number
  /** Of the distinct keys, in order of their first entry. */
  readonly hashes: Uint32Array
  readonly revisions: Float64Array
  readonly #times: Float64Array
  readonly #columns: EncodedColumns
  readonly #starts: { values: Float64Array; details: Float64Array }
  readonly #keyBytes: Buffer
  readonly #keyEnds: Float64Array
  readonly #keys: (string | undefined)[]
  /** The entries of each key, ascending; `#firstOfKey` has where those of a key begin. */
  readonly #byKey: Uint32Array
  readonly #firstOfKey: Uint32Array

  constructor(encoded: Uint8Array) {
    const columns = decodeTable(encoded)
    const { count, keyCount } = columns
    this.#columns = columns
    this.count = count
    this.revisions = sums(columns.revisionDeltas)
    this.#times = sums(columns.timeDeltas)
    this.hashes = columns.hashes
    this.#keyEnds = sums(columns.keyLengths)
    this.#keyBytes = columns.keyBytes
    this.#keys = Array.from<string | undefined>({ length: keyCount })
    this.#starts = {
      values: starts([columns.previousLengths, columns.valueLengths]),
      details: starts([columns.detailsLengths]),
    }
    const grouped = groupByKey(columns.keyNumbers, keyCount)
    this.#byKey = grouped.entries
    this.#firstOfKey = grouped.firsts
  }

  timeMs(entry: number): number {
    return this.#times[entry]!
  }

  key(entry: number): string {
    return this.#key(this.#columns.keyNumbers[entry]!)
  }

  type(entry: number): RecordType {
    return recordTypes[this.#columns.types[entry]!]!
  }

  previousRevision(entry: number): number | undefined {
    const delta = this.#columns.previousDeltas[entry]!
    return delta === 0 ? undefined : this.revisions[entry]! - delta
  }

  /** In the stream of values. */
  previous(entry: number): Extent {
    return { start: this.#starts.values[entry]!, length: this.#columns.previousLengths[entry]! }
  }

  /** In the stream of values, after the previous one. */
  value(entry: number): Extent {
    const { start, length } = this.previous(entry)
    return { start: start + length, length: this.#columns.valueLengths[entry]! }
  }

  /** In the stream of details. */
  details(entry: number): Extent {
    return { start: this.#starts.details[entry]!, length: this.#columns.detailsLengths[entry]! }
  }

  /** Ascending. */
  entriesOf(key: string): Uint32Array {
    const hash = keyHash(key)
    for (let number = this.hashes.indexOf(hash); number >= 0; number = this.hashes.indexOf(hash, number + 1))
      if (this.#key(number) === key) return this.#entriesOfNumber(number)
    return new Uint32Array()
  }

  /** The keys with a prefix and their entries, ascending. */
  *withPrefix(prefix: string): Generator<readonly [string, Uint32Array], void, undefined> {
    for (let number = 0; number < this.hashes.length; number++) {
      const key = this.#key(number)
      if (key.startsWith(prefix)) yield [key, this.#entriesOfNumber(number)]
    }
  }

  #entriesOfNumber(number: number): Uint32Array {
    return this.#byKey.subarray(this.#firstOfKey[number], this.#firstOfKey[number + 1])
  }

  #key(number: number): string {
    const start = number === 0 ? 0 : this.#keyEnds[number - 1]!
    return (this.#keys[number] ??= this.#keyBytes.toString('utf8', start, this.#keyEnds[number]))
  }
}

/** Entries, and the keys that the entries before them do not have. */
export interface TablePart {
  readonly firstEntry: number
  readonly endEntry: number
  readonly firstKey: number
  readonly endKey: number
}

export interface EncodedColumns {
  readonly count: number
  readonly keyCount: number
  readonly revisionDeltas: Float64Array
  readonly timeDeltas: Float64Array
  /** To the revision; 0 if there is no previous version. */
  readonly previousDeltas: Float64Array
  /** In the whole segment. */
  readonly keyNumbers: Uint32Array
  readonly valueLengths: Uint32Array
  readonly previousLengths: Uint32Array
  readonly detailsLengths: Uint32Array
  readonly keyLengths: Uint32Array
  readonly hashes: Uint32Array
  readonly types: Uint8Array
  readonly keyBytes: Buffer
}

export function encodeTable(columns: EntryColumns, part: TablePart): Uint8Array {
  const { firstEntry, endEntry, firstKey, endKey } = part
  const keys = columns.keys.slice(firstKey, endKey)
  const keyBytes = Buffer.from(keys.join(''))
  const count = endEntry - firstEntry
  const bytes = new Uint8Array(headerBytes + count * entryBytes + keys.length * keyWidth + keyBytes.length)
  new Uint32Array(bytes.buffer, 0, 2).set([count, keys.length])
  const encoded = viewColumns(bytes)
  const { revisions, times, previousRevisions } = columns
  for (let entry = firstEntry; entry < endEntry; entry++) {
    const at = entry - firstEntry
    const [revision, previous] = [revisions[entry]!, previousRevisions[entry]!]
    encoded.revisionDeltas[at] = at === 0 ? revision : revision - revisions[entry - 1]!
    encoded.timeDeltas[at] = at === 0 ? times[entry]! : times[entry]! - times[entry - 1]!
    encoded.previousDeltas[at] = previous === 0 ? 0 : revision - previous
  }
  for (const name of copied) encoded[name].set(columns[name].subarray(firstEntry, endEntry))
  encoded.types.set(columns.types.subarray(firstEntry, endEntry))
  const isAscii = keyBytes.length === keys.reduce((sum, key) => sum + key.length, 0)
  for (const [index, key] of keys.entries()) {
    encoded.keyLengths[index] = isAscii ? key.length : Buffer.byteLength(key)
    encoded.hashes[index] = keyHash(key)
  }
  bytes.set(keyBytes, bytes.length - keyBytes.length)
  return bytes
}

export function decodeTable(encoded: Uint8Array): EncodedColumns {
  return viewColumns(encoded.byteOffset % 8 === 0 ? encoded : Uint8Array.from(encoded))
}

function viewColumns({ buffer, byteOffset, byteLength }: Uint8Array): EncodedColumns {
  const [count = 0, keyCount = 0] = new Uint32Array(buffer, byteOffset, 2)
  let at = byteOffset + headerBytes
  const doubles = (length: number): Float64Array => {
    at += length * 8
    return new Float64Array(buffer, at - length * 8, length)
  }
  const words = (length: number): Uint32Array => {
    at += length * 4
    return new Uint32Array(buffer, at - length * 4, length)
  }
  const columns = {
    count,
    keyCount,
    revisionDeltas: doubles(count),
    timeDeltas: doubles(count),
    previousDeltas: doubles(count),
    keyNumbers: words(count),
    valueLengths: words(count),
    previousLengths: words(count),
    detailsLengths: words(count),
    keyLengths: words(keyCount),
    hashes: words(keyCount),
    types: new Uint8Array(buffer, at, count),
  }
  return { ...columns, keyBytes: Buffer.from(buffer, at + count, byteOffset + byteLength - at - count) }
}

/** FNV-1a. */
export function keyHash(key: string): number {
  let hash = 0x81_1c_9d_c5
  for (let index = 0; index < key.length; index++)
    hash = Math.imul(hash ^ key.charCodeAt(index), 0x01_00_01_93)
  return hash >>> 0
}

const copied = ['keyNumbers', 'valueLengths', 'previousLengths', 'detailsLengths'] as const

/** Number of entries and of keys; padded so that columns of doubles are aligned. */
const headerBytes = 16
const entryBytes = 3 * 8 + 4 * 4 + 1
const keyWidth = 2 * 4

function sums(values: ArrayLike<number>): Float64Array {
  const result = new Float64Array(values.length)
  let sum = 0
  for (let index = 0; index < values.length; index++) {
    sum += values[index]!
    result[index] = sum
  }
  return result
}

/** Where the bytes of each entry begin, of which each column of lengths has a part. */
function starts(columns: readonly Uint32Array[]): Float64Array {
  const result = new Float64Array(columns[0]!.length)
  let sum = 0
  for (let index = 0; index < result.length; index++) {
    result[index] = sum
    for (const lengths of columns) sum += lengths[index]!
  }
  return result
}

function groupByKey(
  keyNumbers: Uint32Array,
  keyCount: number,
): { readonly entries: Uint32Array; readonly firsts: Uint32Array } {
  const firsts = new Uint32Array(keyCount + 1)
  for (const number of keyNumbers) firsts[number + 1]!++
  for (let number = 0; number < keyCount; number++) firsts[number + 1]! += firsts[number]!
  const next = Uint32Array.from(firsts)
  const entries = new Uint32Array(keyNumbers.length)
  for (let entry = 0; entry < keyNumbers.length; entry++) entries[next[keyNumbers[entry]!]!++] = entry
  return { entries, firsts }
}
