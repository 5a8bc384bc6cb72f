/**
 * Buffers records, writes them to the journal of the open segment in the background, seals full segments and
 * removes old ones. Segments are written in their order, so that after a crash no records are missing but the
 * last ones.
 */
import type { LruMap } from '#/base/lru-map.ts'
import { messageOf } from '#/base/message-of.ts'
import type { Clock, Timer } from '#/platform/platform.ts'
import type { ThrottledLog } from '#/platform/throttled-log.ts'
import { TimeSlices } from '#/platform/time-slices.ts'
import type { RetainedSince } from '../history-log.ts'
import type { NewRecord } from '../history-record.ts'
import { encodeJournalHeader } from './journal.ts'
import type { LoadedSegments } from './load-segments.ts'
import { frameRawBytes, OpenSegment } from './open-segment.ts'
import { SealedSegment } from './sealed-segment.ts'
import { decodeTrailer, encodeSegment, trailerBytes, type SegmentIndex } from './segment-file.ts'
import type { Segment } from './segment.ts'
import type { SegmentStorage } from './segment-storage.ts'

export interface HistoryWriterOptions {
  readonly storage: SegmentStorage
  readonly clock: Clock
  readonly log: ThrottledLog
  readonly maxAgeMs: number
  readonly maxBytes: number
  /** Size of values at which a segment is sealed. */
  readonly segmentRawBytes: number
  readonly indexes: LruMap<number, SegmentIndex>
}

export class HistoryWriter implements AsyncDisposable {
  readonly #options: HistoryWriterOptions
  /** In order, as `#full`. */
  #sealed: SealedSegment[]
  /** To be sealed. */
  #full: OpenSegment[]
  #open: OpenSegment | undefined
  #nextNumber: number
  /** The newest record. */
  #last: RetainedSince | undefined
  /** Records are missing after the newest one. */
  #hasGap = false
  /** The segment whose journal is open. */
  #journalOf: OpenSegment | undefined
  #timer: Timer | undefined
  /** At most one is running. */
  #working: Promise<void> | undefined
  /** Nothing is tried before the timer. */
  #isFailing = false
  #isClosed = false

  constructor(options: HistoryWriterOptions, { sealed, full, open, nextNumber }: LoadedSegments) {
    this.#options = options
    this.#sealed = sealed
    this.#full = full
    this.#open = open
    this.#nextNumber = nextNumber
    const newest = this.segments.findLast(({ isDamaged }) => !isDamaged)
    this.#last = newest && { revision: newest.lastRevision, timeMs: newest.lastTimeMs }
    this.#schedule()
  }

  /** In ascending order of revision. */
  get segments(): readonly Segment[] {
    const all = [...this.#sealed, ...this.#full, ...(this.#open ? [this.#open] : [])]
    return all.sort((left, right) => left.number - right.number)
  }

  get lastRevision(): number {
    return this.#last?.revision ?? 0
  }

  append(records: readonly NewRecord[]): void {
    if (this.#isClosed) return
    const nowMs = this.#options.clock.now()
    for (const record of records) {
      const { revision } = record
      if (revision <= this.lastRevision) continue
      const timeMs = Math.floor(record.timeMs)
      if (this.#open && this.#isFull(this.#open, nowMs)) this.#close(this.#open)
      const isContinued = this.#last && !this.#hasGap
      this.#open ??= this.#begin(isContinued ? this.#last! : { revision: revision - 1, timeMs })
      this.#hasGap = false
      this.#open.add(record)
      this.#last = { revision, timeMs }
    }
    this.#schedule()
  }

  noteGap(): void {
    if (this.#last === undefined) return
    if (this.#open) this.#close(this.#open)
    this.#hasGap = true
    this.#schedule()
  }

  noteDamage(segment: Segment, error: unknown): void {
    const damaged = this.#sealed.find(each => each === segment)
    if (damaged === undefined || damaged.isDamaged) return
    damaged.isDamaged = true
    const fields = { segment: segment.number, error: messageOf(error) }
    this.#options.log.warn(`damage ${segment.number}`, 'Segment of the history is damaged', fields)
  }

  /** Seals and removes what is old by now; there is no timer for it while nothing is written. */
  async expire(): Promise<void> {
    const nowMs = this.#options.clock.now()
    if (this.#open && this.#isOld(this.#open, nowMs)) this.#close(this.#open)
    const isDue = this.#full.length > 0 || this.#isExpired(this.#sealed[0], nowMs)
    if (isDue && !this.#isFailing && !this.#isClosed) await this.#work()
  }

  async reset(): Promise<void> {
    while (this.#working) await this.#working
    const removed = this.segments
    this.#sealed = []
    this.#full = []
    this.#open = undefined
    this.#last = undefined
    this.#hasGap = false
    this.#journalOf = undefined
    const { storage } = this.#options
    const remove = async (): Promise<void> => {
      for (const { number } of removed) {
        await storage.removeSegment(number)
        await storage.removeJournal(number)
      }
    }
    // No work runs at the same time.
    this.#working = remove().finally(() => (this.#working = undefined))
    await this.#working
    this.#schedule()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    this.#timer?.cancel()
    this.#timer = undefined
    while (this.#working) await this.#working
    if (!this.#isFailing) await this.#work()
    await this.#options.storage[Symbol.asyncDispose]()
  }

  #begin(base: RetainedSince): OpenSegment {
    return new OpenSegment({ number: this.#nextNumber++, base })
  }

  /** Ends the open segment: it is to be sealed. */
  #close(segment: OpenSegment): void {
    this.#open = undefined
    if (this.#full.length < (this.#isFailing ? fullMaxFailing : fullMax)) {
      this.#full.push(segment)
      return
    }
    // The next segment does not continue the one before, so the gap is known.
    const fields = { records: segment.count }
    this.#options.log.warn('gap', 'Records of the history are lost, because they cannot be written', fields)
  }

  #isFull(segment: OpenSegment, nowMs: number): boolean {
    const { segmentRawBytes, maxBytes } = this.#options
    return (
      segment.rawBytes >= segmentRawBytes ||
      segment.count >= segmentRecords ||
      segment.storedBytes >= maxBytes / partsOfRetention ||
      this.#isOld(segment, nowMs)
    )
  }

  #isOld(segment: OpenSegment, nowMs: number): boolean {
    return segment.count > 0 && nowMs - segment.firstTimeMs >= this.#options.maxAgeMs / partsOfRetention
  }

  #isExpired(segment: SealedSegment | undefined, nowMs: number): boolean {
    if (segment === undefined) return false
    const { maxAgeMs, maxBytes } = this.#options
    const sizeBytes = this.#sealed.reduce((sum, each) => sum + each.sizeBytes, this.#open?.storedBytes ?? 0)
    return segment.lastTimeMs <= nowMs - maxAgeMs || sizeBytes > maxBytes
  }

  #schedule(): void {
    if (this.#isClosed || this.#isFailing || this.#working) return
    if (this.#isUrgent()) void this.#work()
    else if (this.#open && this.#open.bufferedCount > 0)
      this.#timer ??= this.#options.clock.setTimer(flushMs, () => void this.#work())
  }

  #isUrgent(): boolean {
    return this.#full.length > 0 || (this.#open?.bufferedBytes ?? 0) >= frameRawBytes
  }

  #work(): Promise<void> {
    this.#timer?.cancel()
    this.#timer = undefined
    return (this.#working ??= this.#writeAll())
  }

  /** Never rejects. */
  async #writeAll(): Promise<void> {
    const { clock, log } = this.#options
    // Nothing is encoded in the call of `append`.
    await clock.turn()
    try {
      do {
        while (this.#full[0]) await this.#seal(this.#full[0])
        await this.#flush()
        await this.#removeExpired()
      } while (this.#isUrgent())
      this.#isFailing = false
    } catch (error) {
      log.warn('write', 'Failed to write the history', { error: messageOf(error) })
      this.#journalOf = undefined
      this.#isFailing = true
      if (!this.#isClosed) this.#timer = clock.setTimer(retryMs, () => void this.#work())
    }
    this.#working = undefined
    this.#schedule()
  }

  /** Writes what is buffered now, unless the segment becomes full meanwhile. */
  async #flush(): Promise<void> {
    const segment = this.#open
    if (segment === undefined) return
    const slices = this.#slices()
    for (let rest = segment.bufferedCount; rest > 0 && segment === this.#open;) {
      await this.#openJournal(segment)
      const frame = segment.encodeFrame()
      await this.#options.storage.appendToJournal(frame.bytes)
      segment.commit(frame)
      rest -= frame.count
      await slices.pause()
    }
  }

  async #openJournal(segment: OpenSegment): Promise<void> {
    if (this.#journalOf === segment) return
    const { storage } = this.#options
    this.#journalOf = undefined
    await storage.openJournal(segment.number, segment.storedBytes)
    if (segment.storedBytes === 0) {
      const header = encodeJournalHeader(segment.base)
      await storage.appendToJournal(header)
      segment.storedBytes = header.length
    }
    this.#journalOf = segment
  }

  async #seal(segment: OpenSegment): Promise<void> {
    const { storage, indexes } = this.#options
    const { number } = segment
    if (segment.count > 0) {
      const slices = this.#slices()
      while (segment.bufferedCount > 0) {
        segment.commit(segment.encodeFrame())
        await slices.pause()
      }
      const content = await encodeSegment(segment, slices)
      const trailer = decodeTrailer(content.subarray(-trailerBytes))!
      const sizeBytes = content.length
      await storage.writeSegment(number, content)
      const openRead = (): ReturnType<SegmentStorage['openSegment']> => storage.openSegment(number)
      this.#sealed.push(new SealedSegment({ number, sizeBytes, trailer, openRead, indexes }))
      this.#sealed.sort((left, right) => left.number - right.number)
    }
    this.#full.shift()
    if (this.#journalOf === segment) this.#journalOf = undefined
    await storage.removeJournal(number)
  }

  async #removeExpired(): Promise<void> {
    while (this.#isExpired(this.#sealed[0], this.#options.clock.now())) {
      // Its header has the last revision, also when no segment is left.
      if (this.#last && !this.#hasGap) await this.#openJournal((this.#open ??= this.#begin(this.#last)))
      const oldest = this.#sealed.shift()!
      await this.#options.storage.removeSegment(oldest.number)
    }
  }

  #slices(): TimeSlices {
    return new TimeSlices(this.#options.clock, 'history')
  }
}

const flushMs = 1_000
const retryMs = 10_000

/** A segment is at most this part of what is retained, which is the granularity of the retention. */
const partsOfRetention = 8

/** Bounds the size of an index in memory. */
const segmentRecords = 8_192

/** Bounds the full segments in memory while the disk fails, and while it is slow. */
const fullMaxFailing = 4
const fullMax = 32
