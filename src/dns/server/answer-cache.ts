import type { DnsMessage, ResourceRecord } from '../dns-message.ts'

/** Bounds of the cache; the least recently used answers are removed. */
const entriesMax = 10_000
const bytesMax = 32 * 1_024 * 1_024

/** Answers of upstream servers, with the time until which they are fresh, and that until which they may be used. */
export class AnswerCache {
  /** In order of last use, least recent first. */
  readonly #entries = new Map<string, CachedAnswer>()
  #bytes = 0

  get(key: string): CachedAnswer | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry
  }

  set(key: string, entry: CachedAnswer): void {
    this.delete(key)
    this.#entries.set(key, entry)
    this.#bytes += sizeOf(entry)
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= entriesMax && this.#bytes <= bytesMax) return
      this.delete(oldest)
      this.evictions++
    }
  }

  /** Number of answers removed because the cache was full. */
  evictions = 0

  delete(key: string): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#entries.delete(key)
    this.#bytes -= sizeOf(entry)
  }

  clear(): void {
    this.#entries.clear()
    this.#bytes = 0
  }

  values(): Iterable<CachedAnswer> {
    return this.#entries.values()
  }
}

export interface CachedAnswer {
  readonly answer: DnsMessage
  readonly storedMs: number
  readonly freshUntilMs: number
  /** While no upstream server answers. */
  readonly staleUntilMs: number
  /** No upstream server is asked before, since none answered. */
  readonly retryAtMs?: number
}

/** The answer with the TTLs that are left. */
export function aged(answer: DnsMessage, ageSeconds: number): DnsMessage {
  const older = (records: readonly ResourceRecord[]): readonly ResourceRecord[] =>
    records.map(record => ({ ...record, ttlSeconds: Math.max(0, record.ttlSeconds - ageSeconds) }))
  return ageSeconds === 0 ? answer : withRecords(answer, older)
}

/** RFC 8767, section 4: TTL of expired records. */
const staleTtlSeconds = 30

export function stale(answer: DnsMessage): DnsMessage {
  return withRecords(answer, records => records.map(record => ({ ...record, ttlSeconds: staleTtlSeconds })))
}

function withRecords(
  answer: DnsMessage,
  change: (records: readonly ResourceRecord[]) => readonly ResourceRecord[],
): DnsMessage {
  const { answers, authorities, additionals } = answer
  return {
    ...answer,
    answers: change(answers),
    authorities: change(authorities),
    additionals: change(additionals),
  }
}

/** Bytes of an object in memory besides names and data. */
const recordBytes = 100

function sizeOf({ answer }: CachedAnswer): number {
  let sum = recordBytes
  for (const records of [answer.answers, answer.authorities, answer.additionals])
    for (const { name, data } of records)
      sum += recordBytes + name.length + data.reduce((all, part) => all + part.length, 0)
  return sum
}
