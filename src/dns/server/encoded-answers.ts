import type { Random } from '#/platform/platform.ts'
import { recordTypes, type DnsMessage } from '../dns-message.ts'
import type { AnswerSeries } from '../dns-metrics.ts'

/** Maximum number of entries; the least recently added half is removed. */
const entriesMax = 8_192

/** Longer queries have options that differ between queries, such as cookies. */
const queryBytesMax = 300

const headerBytes = 12

export interface EncodedAnswer {
  readonly bytes: Uint8Array
  readonly series: AnswerSeries
  /** Absent if the answer does not expire. */
  readonly freshUntilMs?: number
  /** Counted for each use. */
  readonly onUse?: () => void
}

/**
 * Answers as bytes, by the bytes of the query without its id. Most queries of a cluster are repeated many times, and
 * such an answer needs no parsing and no serialization. They are valid until the state of the cluster or the
 * configuration changes.
 */
export class EncodedAnswers {
  #current = new Map<string, Entry>()
  #before = new Map<string, Entry>()
  #generation = 0

  /** Changes with the state that the answers were made from. */
  get generation(): number {
    return this.#generation
  }

  clear(): void {
    this.#generation++
    if (this.#current.size > 0) this.#current = new Map()
    if (this.#before.size > 0) this.#before = new Map()
  }

  /** Copies the answer, with the id of the query, the TTLs that are left, and its addresses in a random order. */
  get(
    query: Uint8Array,
    nowMs: number,
    random: Random,
  ): { readonly bytes: Uint8Array; readonly series: AnswerSeries } | undefined {
    if (query.length > queryBytesMax) return undefined
    const key = keyOf(query)
    let entry = this.#current.get(key)
    if (entry === undefined) {
      entry = this.#before.get(key)
      if (entry === undefined) return undefined
      this.#add(key, entry)
    }
    if (entry.freshUntilMs !== undefined && nowMs >= entry.freshUntilMs) return undefined
    entry.onUse?.()
    if (entry.ttlOffsets.length > 0) ageTtls(entry, nowMs)
    const bytes = entry.rotation ? rotate(entry.bytes, entry.rotation, random) : Buffer.from(entry.bytes)
    bytes[0] = query[0]!
    bytes[1] = query[1]!
    return { bytes, series: entry.series }
  }

  /** `message` is the answer that is encoded; answers that were cut are not kept. */
  set(
    query: Uint8Array,
    answer: EncodedAnswer & { readonly message: DnsMessage; readonly nowMs: number },
  ): void {
    const { bytes, message, freshUntilMs, nowMs } = answer
    if (query.length > queryBytesMax || (bytes[2]! & 2) !== 0) return
    const rotation = freshUntilMs === undefined ? rotationOf(bytes, message) : undefined
    const ttlOffsets = freshUntilMs === undefined ? [] : ttlOffsetsOf(bytes)
    this.#add(keyOf(query), {
      ...answer,
      bytes: Uint8Array.from(bytes),
      encodedMs: nowMs,
      agedSeconds: 0,
      ttlOffsets,
      ...(rotation && { rotation }),
    })
  }

  #add(key: string, entry: Entry): void {
    if (this.#current.size >= entriesMax / 2) {
      this.#before = this.#current
      this.#current = new Map()
    }
    this.#current.set(key, entry)
  }
}

interface Entry extends EncodedAnswer {
  readonly encodedMs: number
  /** Seconds that were already taken from the TTLs. */
  agedSeconds: number
  readonly ttlOffsets: readonly number[]
  readonly rotation?: Rotation
}

/** Records of equal length that can be in any order. */
interface Rotation {
  readonly start: number
  readonly recordBytes: number
  readonly count: number
}

function keyOf(query: Uint8Array): string {
  return Buffer.from(query.buffer, query.byteOffset, query.byteLength).toString('latin1', 2)
}

/** Addresses refer to the name of the question, which is before all of them. */
function rotationOf(bytes: Uint8Array, { answers }: DnsMessage): Rotation | undefined {
  const [first] = answers
  if (answers.length < 2 || first === undefined) return undefined
  const { type, name } = first
  if (type !== recordTypes.A && type !== recordTypes.AAAA) return undefined
  if (answers.some(answer => answer.type !== type || answer.name !== name)) return undefined
  const start = skipName(bytes, headerBytes) + 4
  // Name as a reference, type, class, TTL, length, address.
  const recordBytes = 12 + (type === recordTypes.A ? 4 : 16)
  return bytes[start] === 0xc0 && bytes[start + 1] === headerBytes
    ? { start, recordBytes, count: answers.length }
    : undefined
}

function rotate(bytes: Uint8Array, { start, recordBytes, count }: Rotation, random: Random): Uint8Array {
  const cut = start + random.integer('dns order', count) * recordBytes
  const end = start + count * recordBytes
  const rotated = Buffer.allocUnsafe(bytes.length)
  rotated.set(bytes.subarray(0, start))
  rotated.set(bytes.subarray(cut, end), start)
  rotated.set(bytes.subarray(start, cut), start + end - cut)
  rotated.set(bytes.subarray(end), end)
  return rotated
}

function ageTtls(entry: Entry, nowMs: number): void {
  const seconds = Math.floor((nowMs - entry.encodedMs) / 1_000)
  const more = seconds - entry.agedSeconds
  if (more <= 0) return
  const view = new DataView(entry.bytes.buffer, entry.bytes.byteOffset)
  for (const offset of entry.ttlOffsets) view.setUint32(offset, Math.max(0, view.getUint32(offset) - more))
  entry.agedSeconds = seconds
}

/** Of a message that this program has serialized. The TTL of an OPT record has another meaning. */
function ttlOffsetsOf(bytes: Uint8Array): readonly number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const count = view.getUint16(6) + view.getUint16(8) + view.getUint16(10)
  const offsets: number[] = []
  let offset = skipName(bytes, headerBytes) + 4
  for (let index = 0; index < count; index++) {
    offset = skipName(bytes, offset)
    if (view.getUint16(offset) !== recordTypes.OPT) offsets.push(offset + 4)
    offset += 10 + view.getUint16(offset + 8)
  }
  return offsets
}

function skipName(bytes: Uint8Array, from: number): number {
  let offset = from
  for (;;) {
    const head = bytes[offset] ?? 0
    if (head >= 0xc0) return offset + 2
    if (head === 0) return offset + 1
    offset += head + 1
  }
}
