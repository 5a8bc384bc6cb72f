/** Compares the answers of a store with what the replicated log of etcd says. */
import { StoreError, type Entry, type Listing, type StoreEvent, type WriteResult } from '#/store/store.ts'
import type { SimulatedEtcd } from '../etcd/simulated-etcd.ts'

export interface WriteAttempt {
  readonly key: string
  /** Unique; undefined for a deletion. */
  readonly value: string | undefined
  /** Empty for none. */
  readonly note: string
  /** 0 for a creation. */
  readonly expectedRevision: number
}

/** The revisions of etcd when a call began and when it returned. */
export interface Span {
  readonly from: number
  readonly to: number
}

export class AnswerChecker {
  readonly violations: string[] = []
  acknowledgedCount = 0
  readonly #etcd: SimulatedEtcd
  readonly #record: (text: string) => void
  /** Values whose write was refused: it must never happen. */
  readonly #refused = new Map<string, string>()

  constructor(etcd: SimulatedEtcd, record: (text: string) => void) {
    this.#etcd = etcd
    this.#record = record
  }

  report(violation: string): void {
    this.#record(`violation: ${violation}`)
    this.violations.push(violation)
  }

  /** Calls the store and notes the revisions before and after. */
  async span<T>(call: () => Promise<T>): Promise<{ readonly answer: T; readonly span: Span }> {
    const from = this.#etcd.revision
    const answer = await call()
    return { answer, span: { from, to: this.#etcd.revision } }
  }

  get newestRevision(): number {
    return this.#etcd.revision
  }

  written(attempt: WriteAttempt, result: WriteResult, span: Span): void {
    const { key, value, expectedRevision } = attempt
    const what = `${value === undefined ? 'deletion' : 'write'} of ${key} over ${expectedRevision}`
    if (!result.written) {
      if (value !== undefined) this.#refused.set(value, what)
      this.#checkCurrent(`${what}: current entry`, key, { entry: result.current, span })
      return
    }
    this.acknowledgedCount++
    const { revision } = result
    if (revision <= span.from || revision > span.to)
      this.report(`${what} has revision ${revision}, outside of ${span.from} to ${span.to}`)
    const event = this.#etcd.eventsAt(revision).find(each => each.key === key)
    if (event === undefined || textOf(event) !== value)
      this.report(`${what} is not what revision ${revision} is`)
    // Without space a deletion loses its note.
    const isNoteLost = value === undefined && event?.note === undefined
    if (noteOf(event) !== attempt.note && !isNoteLost)
      this.report(`${what} at ${revision} has the note "${noteOf(event)}" instead of "${attempt.note}"`)
    const before = this.#entryAt(key, revision - 1)?.revision ?? 0
    if (before !== expectedRevision) this.report(`${what} at ${revision} replaced revision ${before}`)
  }

  /** The write failed. Only a shortage of space says that it did not happen. */
  writeFailed({ key, value }: WriteAttempt, error: unknown): void {
    if (isReason(error, 'full') && value !== undefined)
      this.#refused.set(value, `write of ${key} without space`)
    else if (!isReason(error, 'unavailable')) this.report(`write of ${key} failed: ${String(error)}`)
  }

  readFailed(what: string, error: unknown): void {
    if (!isReason(error, 'unavailable')) this.report(`${what} failed: ${String(error)}`)
  }

  read(key: string, entry: Entry | undefined, span: Span): void {
    this.#checkCurrent(`read of ${key}`, key, { entry, span })
  }

  revision(revision: number, { from, to }: Span): void {
    if (revision < from || revision > to)
      this.report(`the revision is ${revision}, outside of ${from} to ${to}`)
  }

  listed(prefix: string, { entries, revision, remaining }: Listing, span: Span): void {
    this.revision(revision, span)
    const expected = this.#etcd.entriesAt(prefix, revision)
    const shown = entries.map(show).join()
    if (shown !== expected.slice(0, entries.length).map(show).join())
      this.report(`list at ${revision} is ${shown}, not ${expected.map(show).join()}`)
    if (entries.length + remaining !== expected.length)
      this.report(
        `list at ${revision} has ${remaining} more entries, not ${expected.length - entries.length}`,
      )
  }

  /** Events below a prefix after a revision, up to another one. */
  eventsBetween(prefix: string, after: number, to: number): readonly StoreEvent[] {
    const events: StoreEvent[] = []
    for (let revision = after + 1; revision <= to; revision++)
      events.push(...this.#etcd.eventsAt(revision).filter(({ key }) => key.startsWith(prefix)))
    return events
  }

  /** A watch or a read may fail so only if its revision has been compacted. */
  compacted(what: string, position: number): void {
    const { compactRevision } = this.#etcd
    if (position >= compactRevision)
      this.report(`${what} at ${position} is told of a compaction, which is at ${compactRevision}`)
  }

  /** Refused writes did not happen, and no write happened twice. */
  checkHistory(): void {
    const revisions = new Map<string, number>()
    for (const event of this.eventsBetween('/', 0, this.#etcd.revision)) {
      if (event.type === 'delete') continue
      const value = textOf(event)!
      const refused = this.#refused.get(value)
      if (refused) this.report(`${refused} was refused and happened at ${event.revision}`)
      const first = revisions.get(value)
      if (first) this.report(`the write of ${event.key} at ${first} happened again at ${event.revision}`)
      revisions.set(value, event.revision)
    }
  }

  /** The entry was the current one at some time during the call. */
  #checkCurrent(what: string, key: string, { entry, span }: { entry: Entry | undefined; span: Span }): void {
    for (let revision = span.from; revision <= span.to; revision++)
      if (show(this.#entryAt(key, revision)) === show(entry)) return
    this.report(`${what} is ${show(entry)}, which it was not from ${span.from} to ${span.to}`)
  }

  #entryAt(key: string, revision: number): Entry | undefined {
    return this.#etcd.entriesAt(key, revision).find(each => each.key === key)
  }
}

export function isReason(error: unknown, reason: StoreError['reason']): boolean {
  return error instanceof StoreError && error.reason === reason
}

/** Text of an event or entry, to compare and to report. */
export function show(item: Entry | StoreEvent | undefined): string {
  if (item === undefined) return 'nothing'
  const created = 'createRevision' in item ? `/${item.createRevision} ${textOf(item)}` : ' deleted'
  return `${item.key}@${item.revision}${created}${'note' in item ? ` note ${noteOf(item)}` : ''}`
}

function noteOf(event: StoreEvent | undefined): string {
  return Buffer.from(event?.note ?? '').toString()
}

function textOf(item: Entry | StoreEvent): string | undefined {
  return 'value' in item ? Buffer.from(item.value).toString() : undefined
}
