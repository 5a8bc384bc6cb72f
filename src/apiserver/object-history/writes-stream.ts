/**
 * The writes of the cluster in order, if the user may read the objects. A reader that follows gets new ones from the
 * recorder; a slow one reads them from the log again, so that its backlog is bounded and nothing is skipped.
 */
import { decodeOrigin } from '#/api/origin.ts'
import { expired } from '#/api/errors.ts'
import type { WriteRecord } from '#/api/write-record.ts'
import type { RangeRecord } from '#/history/history-record.ts'
import type { Clock } from '#/platform/platform.ts'
import { TimeSlices } from '#/platform/time-slices.ts'
import type { ObjectHistory } from '../object-history.ts'
import type { StreamChunk, UserInfo } from '../request.ts'
import type { HistoryAccess } from './history-access.ts'

export interface WritesStreamOptions {
  readonly history: ObjectHistory
  readonly clock: Clock
  readonly user: UserInfo
  readonly signal: AbortSignal
  readonly head: object
  readonly afterRevision: number
  /** Undefined to follow without an end. */
  readonly untilRevision: number | undefined
  readonly currentRevision: number
  readonly namespace: string
  readonly limit: number
  readonly follows: boolean
}

export class WritesStream implements AsyncIterable<readonly StreamChunk[]> {
  readonly #options: WritesStreamOptions
  readonly #access: HistoryAccess
  #sentRevision: number
  #left: number
  #backlog: Omit<RangeRecord, 'value'>[] = []
  #isBehind = true
  #wake: (() => void) | undefined

  constructor(options: WritesStreamOptions) {
    this.#options = options
    this.#access = options.history.accessOf(options.user)
    this.#sentRevision = options.afterRevision
    this.#left = options.limit
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<readonly StreamChunk[], void, undefined> {
    const { history, signal, follows, head } = this.#options
    const { recorder } = history
    const wake = (): void => this.#wake?.()
    signal.addEventListener('abort', wake)
    if (follows) recorder.subscribe(this.#take)
    try {
      yield [lineOf(head)]
      while (!signal.aborted) {
        if (this.#isBehind) yield* this.#readLog()
        if (!follows || this.#isFinished) return
        const backlog = this.#backlog
        this.#backlog = []
        const chunks = await this.#linesOf(backlog)
        if (chunks.length > 0) yield chunks
        else if (!this.#isBehind && this.#backlog.length === 0 && !this.#isFinished) await this.#wait()
      }
    } finally {
      recorder.unsubscribe(this.#take)
      signal.removeEventListener('abort', wake)
    }
  }

  get #isFinished(): boolean {
    const { untilRevision = Infinity } = this.#options
    return this.#left <= 0 || this.#sentRevision >= untilRevision
  }

  readonly #take = (records: readonly Omit<RangeRecord, 'value'>[]): void => {
    if (this.#isBehind) return
    if (this.#backlog.length + records.length > backlogMax) {
      this.#backlog = []
      this.#isBehind = true
    } else {
      for (const { revision, timeMs, key, type, uid, origin } of records)
        this.#backlog.push({ revision, timeMs, key, type, uid, origin })
    }
    this.#wake?.()
  }

  async *#readLog(): AsyncGenerator<readonly StreamChunk[], void, undefined> {
    const { history, signal, currentRevision, untilRevision = Infinity, follows } = this.#options
    const { revision: retained } = await history.retainedSince()
    if (this.#sentRevision > this.#options.afterRevision && this.#sentRevision < retained - 1) {
      yield [lineOf(expired('the reader is too slow: the next writes are not retained anymore').status)]
      this.#left = 0
      return
    }
    // Records that arrive from now on are in the backlog, and those that are in both are sent once.
    this.#isBehind = false
    const newest = follows ? Math.max(history.log.lastRevision, this.#sentRevision) : currentRevision
    const end = Math.min(newest, untilRevision)
    const range = { afterRevision: this.#sentRevision, untilRevision: end, signal }
    if (end > this.#sentRevision) {
      for await (const records of history.log.range(range)) {
        const chunks = await this.#linesOf(records)
        if (chunks.length > 0) yield chunks
        if (this.#left <= 0) return
      }
    }
    this.#sentRevision = Math.max(this.#sentRevision, end)
  }

  async #linesOf(records: readonly Omit<RangeRecord, 'value'>[]): Promise<readonly StreamChunk[]> {
    const { clock, untilRevision = Infinity } = this.#options
    const slices = new TimeSlices(clock, 'list writes')
    const chunks: StreamChunk[] = []
    const sentRevision = this.#sentRevision
    for (const record of records) {
      const pause = slices.pause()
      if (pause) await pause
      // Several writes may share a revision.
      if (record.revision <= sentRevision) continue
      if (this.#left <= 0) break
      this.#sentRevision = Math.min(record.revision, untilRevision)
      if (record.revision > untilRevision) break
      const write = await this.#readable(record)
      if (write === undefined) continue
      this.#left--
      chunks.push(lineOf(write))
    }
    return chunks
  }

  /** Undefined if the write is in another namespace, or the user may not read the object. */
  async #readable(record: Omit<RangeRecord, 'value'>): Promise<WriteRecord | undefined> {
    const { history, namespace: wanted } = this.#options
    const { revision, timeMs, key, type, uid } = record
    const located = history.locator.locate(key)
    if (located === undefined || (wanted !== '' && located.namespace !== wanted)) return undefined
    if (!(await this.#access.mayRead(located, revision))) return undefined
    const { resource, apiVersion, namespace, name } = located
    const origin = record.origin && decodeOrigin(record.origin)
    const { kind, plural } = resource
    return {
      revision,
      timeMs,
      type,
      object: { apiVersion, kind, resource: plural, ...(namespace && { namespace }), name, uid },
      ...(origin && { origin }),
    }
  }

  async #wait(): Promise<void> {
    if (this.#options.signal.aborted) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wake = resolve
    await promise
    this.#wake = undefined
  }
}

function lineOf(value: object): StreamChunk {
  return { value, bytes: () => Buffer.from(`${JSON.stringify(value)}\n`) }
}

/** Maximum number of unsent records of a reader that follows; past it they are read from the log. */
const backlogMax = 500
