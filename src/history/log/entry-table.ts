/**
 * The entries of a segment without values and origins, as columns: nothing is parsed when the table is
 * loaded, and equal values stand side by side, so that it compresses well. Numbers are little-endian, as the
 * CPU's.
 */
import { crc32 } from 'node:zlib'

/** Entries are in ascending order of revision. */
export interface TableEntry {
  readonly revision: number
  /** A whole number. */
  readonly timeMs: number
  readonly key: string
  readonly type: 'put' | 'delete'
  readonly origin: Uint8Array | undefined
  /** Undefined if the key was created, or an earlier entry of the segment is about it. */
  readonly previousRevision: number | undefined
  readonly previousLength: number
  readonly valueLength: number
}

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
  readonly #previousDeltas: Float64Array
  readonly #keyNumbers: Uint32Array
  readonly #lengths: { values: Uint32Array; previous: Uint32Array; origins: Uint32Array }
  readonly #starts: { values: Float64Array; origins: Float64Array }
  readonly #flags: Uint8Array
  readonly #keyBytes: Buffer
  readonly #keyEnds: Float64Array
  readonly #keys: (string | undefined)[]
  /** The entries of each key, ascending; `#firstOfKey` has where those of a key begin. */
  readonly #byKey: Uint32Array
  readonly #firstOfKey: Uint32Array

  constructor(encoded: Uint8Array) {
    const bytes = encoded.byteOffset % 8 === 0 ? encoded : Uint8Array.from(encoded)
    const [count = 0, keyCount = 0] = new Uint32Array(bytes.buffer, bytes.byteOffset, 2)
    let at = headerBytes
    const doubles = (length: number): Float64Array => {
      at += length * 8
      return new Float64Array(bytes.buffer, bytes.byteOffset + at - length * 8, length)
    }
    const words = (length: number): Uint32Array => {
      at += length * 4
      return new Uint32Array(bytes.buffer, bytes.byteOffset + at - length * 4, length)
    }
    this.count = count
    this.revisions = sums(doubles(count))
    this.#times = sums(doubles(count))
    this.#previousDeltas = doubles(count)
    this.#keyNumbers = words(count)
    this.#lengths = { values: words(count), previous: words(count), origins: words(count) }
    this.hashes = words(keyCount)
    this.#keyEnds = sums(words(keyCount))
    this.#flags = bytes.subarray(at, at + count)
    this.#keyBytes = Buffer.from(bytes.buffer, bytes.byteOffset + at + count, this.#keyEnds.at(-1) ?? 0)
    this.#keys = Array.from<string | undefined>({ length: keyCount })
    this.#starts = {
      values: starts([this.#lengths.previous, this.#lengths.values]),
      origins: starts([this.#lengths.origins]),
    }
    const grouped = groupByKey(this.#keyNumbers, keyCount)
    this.#byKey = grouped.entries
    this.#firstOfKey = grouped.firsts
  }

  timeMs(entry: number): number {
    return this.#times[entry]!
  }

  key(entry: number): string {
    return this.#key(this.#keyNumbers[entry]!)
  }

  type(entry: number): 'put' | 'delete' {
    return this.#flags[entry]! & deleteFlag ? 'delete' : 'put'
  }

  previousRevision(entry: number): number | undefined {
    const delta = this.#previousDeltas[entry]!
    return delta === 0 ? undefined : this.revisions[entry]! - delta
  }

  /** In the stream of values. */
  previous(entry: number): Extent {
    return { start: this.#starts.values[entry]!, length: this.#lengths.previous[entry]! }
  }

  /** In the stream of values, after the previous one. */
  value(entry: number): Extent {
    const { start, length } = this.previous(entry)
    return { start: start + length, length: this.#lengths.values[entry]! }
  }

  /** In the stream of origins. */
  origin(entry: number): Extent | undefined {
    if (!(this.#flags[entry]! & originFlag)) return undefined
    return { start: this.#starts.origins[entry]!, length: this.#lengths.origins[entry]! }
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

export function encodeTable(entries: readonly TableEntry[]): Uint8Array {
  const keyNumbers = new Map<string, number>()
  for (const { key } of entries) if (!keyNumbers.has(key)) keyNumbers.set(key, keyNumbers.size)
  const keys = [...keyNumbers.keys()].map(key => Buffer.from(key))
  const count = entries.length
  let at = headerBytes
  const keyBytes = keys.reduce((sum, key) => sum + key.length, 0)
  const bytes = new Uint8Array(headerBytes + count * (3 * 8 + 4 * 4 + 1) + keys.length * 8 + keyBytes)
  const doubles = (values: Iterable<number>): void => {
    const column = Float64Array.from(values)
    bytes.set(new Uint8Array(column.buffer), at)
    at += column.byteLength
  }
  const words = (values: Iterable<number>): void => {
    const column = Uint32Array.from(values)
    bytes.set(new Uint8Array(column.buffer), at)
    at += column.byteLength
  }
  new Uint32Array(bytes.buffer, 0, 2).set([count, keys.length])
  doubles(deltas(entries.map(({ revision }) => revision)))
  doubles(deltas(entries.map(({ timeMs }) => timeMs)))
  doubles(entries.map(({ revision, previousRevision = revision }) => revision - previousRevision))
  words(entries.map(({ key }) => keyNumbers.get(key)!))
  words(entries.map(({ valueLength }) => valueLength))
  words(entries.map(({ previousLength }) => previousLength))
  words(entries.map(({ origin }) => origin?.length ?? 0))
  words(keys.map(key => crc32(key)))
  words(keys.map(key => key.length))
  for (const { type, origin } of entries)
    bytes[at++] = (type === 'delete' ? deleteFlag : 0) | (origin === undefined ? 0 : originFlag)
  for (const key of keys) {
    bytes.set(key, at)
    at += key.length
  }
  return bytes
}

export function keyHash(key: string): number {
  return crc32(key)
}

/** Number of entries and of keys; padded so that columns of doubles are aligned. */
const headerBytes = 16

const deleteFlag = 1
const originFlag = 2

function deltas(values: readonly number[]): number[] {
  return values.map((value, index) => value - (index === 0 ? 0 : values[index - 1]!))
}

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
