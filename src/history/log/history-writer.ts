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
import type { HistoryStatus, RetainedSince } from '../history-log.ts'
import type { NewRecord } from '../history-record.ts'
import { encodeJournalHeader } from './journal.ts'
import { segmentRecords } from './entry-columns.ts'
import type { LoadedSegments } from './load-segments.ts'
import { OpenSegment } from './open-segment.ts'
import { SealedSegment } from './sealed-segment.ts'
import { decodeTrailer, encodeSegment, trailerBytes, type SegmentIndex } from './segment-file.ts'
import type { SegmentMemory } from './segment-memory.ts'
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
  readonly memory: SegmentMemory
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
  /** Why nothing is tried before the timer. */
  #failure: string | undefined
  #writeFailures = 0
  #lostRecords = 0
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

  get status(): Omit<HistoryStatus, 'retainedSince'> {
    return {
      sizeBytes: this.#sizeBytes,
      damagedSegments: this.#sealed.reduce((count, { isDamaged }) => count + (isDamaged ? 1 : 0), 0),
      writeFailures: this.#writeFailures,
      lostRecords: this.#lostRecords,
      failure: this.#failure,
    }
  }

  append(records: readonly NewRecord[]): void {
    if (this.#isClosed) return
    const nowMs = this.#options.clock.now()
    // Keys that expired together share a revision.
    const knownRevision = this.lastRevision
    let begins = false
    for (const record of records) {
      const { revision } = record
      if (revision <= knownRevision) continue
      const timeMs = Math.floor(record.timeMs)
      if (this.#open && this.#isFull(this.#open, nowMs)) this.#close(this.#open)
      const isContinued = this.#last && !this.#hasGap
      begins ||= !isContinued
      this.#open ??= this.#begin(isContinued ? this.#last! : { revision: revision - 1, timeMs })
      this.#hasGap = false
      this.#open.add(record)
      this.#last = { revision, timeMs }
    }
    // After a crash the recorder continues behind the last record, so that a first one must not be lost.
    if (begins && !this.#isFailing) void this.#work('all')
    else this.#schedule()
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
    if (isDue && !this.#isFailing && !this.#isClosed) await this.#work('full')
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
    if (!this.#isFailing) await this.#work('all')
    await this.#options.storage[Symbol.asyncDispose]()
  }

  #begin(base: RetainedSince): OpenSegment {
    return new OpenSegment({ number: this.#nextNumber++, base, memory: this.#options.memory })
  }

  /** Ends the open segment: it is to be sealed. */
  #close(segment: OpenSegment): void {
    this.#open = undefined
    if (this.#full.length < (this.#isFailing ? fullMaxFailing : fullMax)) {
      this.#full.push(segment)
      return
    }
    // The next segment does not continue the one before, so the gap is known.
    this.#lostRecords += segment.count
    const fields = { records: segment.count }
    this.#options.log.warn('gap', 'Records of the history are lost, because they cannot be written', fields)
  }

  get #isFailing(): boolean {
    return this.#failure !== undefined
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
    return segment.lastTimeMs <= nowMs - maxAgeMs || this.#sizeBytes > maxBytes
  }

  get #sizeBytes(): number {
    return this.#sealed.reduce((sum, each) => sum + each.sizeBytes, this.#open?.storedBytes ?? 0)
  }

  #schedule(): void {
    if (this.#isClosed || this.#isFailing || this.#working) return
    if (this.#isUrgent()) void this.#work('full')
    else if (this.#open && this.#open.storedCount < this.#open.count)
      this.#timer ??= this.#options.clock.setTimer(flushMs, () => void this.#work('all'))
  }

  #isUrgent(): boolean {
    return this.#full.length > 0 || this.#open?.hasFullBlock === true
  }

  #work(blocks: 'all' | 'full'): Promise<void> {
    this.#timer?.cancel()
    this.#timer = undefined
    return (this.#working ??= this.#write(blocks))
  }

  /** Never rejects. */
  async #write(blocks: 'all' | 'full'): Promise<void> {
    const { clock, log } = this.#options
    // Nothing is encoded in the call of `append`.
    await clock.turn()
    try {
      do {
        while (this.#full[0]) await this.#seal(this.#full[0])
        await this.#flush(blocks)
        await this.#removeExpired()
      } while (this.#isUrgent())
      this.#failure = undefined
    } catch (error) {
      this.#failure = messageOf(error)
      this.#writeFailures++
      log.warn('write', 'Failed to write the history', { error: this.#failure })
      this.#journalOf = undefined
      if (!this.#isClosed) this.#timer = clock.setTimer(retryMs, () => void this.#work('all'))
    }
    this.#working = undefined
    this.#schedule()
  }

  /** Writes full blocks, or all that is buffered now, unless the segment becomes full meanwhile. */
  async #flush(blocks: 'all' | 'full'): Promise<void> {
    const segment = this.#open
    if (segment === undefined) return
    const { storage } = this.#options
    const slices = this.#slices()
    const count = blocks === 'all' ? segment.count : 0
    while (segment === this.#open && (segment.storedCount < count || segment.hasFullBlock)) {
      await this.#openJournal(segment)
      const frame = segment.encodeFrame()
      await storage.appendToJournal(frame.bytes)
      segment.commit(frame)
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
      while (segment.storedCount < segment.count) {
        segment.commit(segment.encodeFrame())
        await slices.pause()
      }
      const content = await encodeSegment(segment, slices)
      const trailer = decodeTrailer(content.subarray(-trailerBytes))!
      const sizeBytes = content.length
      await storage.writeSegment(number, content)
      const openRead = (): ReturnType<SegmentStorage['openSegment']> => storage.openSegment(number)
      const sealed = new SealedSegment({ number, sizeBytes, trailer, openRead, indexes })
      this.#sealed.push(sealed)
      this.#sealed.sort((left, right) => left.number - right.number)
      segment.release(sealed)
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

/** Bounds the full segments in memory while the disk fails, and while it is slow. */
const fullMaxFailing = 4
const fullMax = 32
