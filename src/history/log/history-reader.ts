/**
 * Answers reads from the segments. A damaged segment is reported and skipped; states before it are not
 * retained.
 */
import type { Clock } from '#/platform/platform.ts'
import { TimeSlices } from '#/platform/time-slices.ts'
import type { KeyState, RangeOptions, RetainedSince, VersionsOptions } from '../history-log.ts'
import type { HistoryRecord, RangeRecord, StateAt } from '../history-record.ts'
import { firstAfter, type Segment, type SegmentContent } from './segment.ts'

export interface HistoryReaderOptions {
  readonly clock: Clock
  /** The segments now, in ascending order of revision. */
  readonly segments: () => readonly Segment[]
  /** Marks the segment as damaged, if it is still retained. */
  readonly onDamage: (segment: Segment, error: unknown) => void
}

export class HistoryReader {
  readonly #options: HistoryReaderOptions

  constructor(options: HistoryReaderOptions) {
    this.#options = options
  }

  retainedSince(): RetainedSince | undefined {
    return this.#contiguous()[0]?.base
  }

  async *versions(
    key: string,
    { beforeRevision = Infinity, limit = Infinity }: VersionsOptions = {},
  ): AsyncGenerator<HistoryRecord, void, undefined> {
    const slices = this.#slices()
    let rest = limit
    for (const segment of this.#options.segments().toReversed()) {
      if (rest <= 0) return
      if (segment.base.revision >= beforeRevision || !segment.mayContain(key)) continue
      const content = await this.#open(segment)
      if (content === undefined) continue
      const entries = content.entriesOf(key)
      for (let index = entries.length - 1; index >= 0 && rest > 0; index--) {
        if (content.revision(entries[index]!) >= beforeRevision) continue
        const record = await this.#attempt(segment, () => content.read(entries[index]!, { withValue: true }))
        if (record === undefined) break
        rest--
        yield { ...record, value: record.value! }
      }
      await slices.pause()
    }
  }

  async at(key: string, revision: number): Promise<StateAt> {
    for (;;) {
      const segments = this.#contiguous()
      const last = holding(segments, revision)
      if (last < 0) return { type: 'expired' }
      const state = await this.#stateIn(segments, { last, key, revision })
      // Undefined after damage, which shortens the retained time.
      if (state !== undefined) return state
    }
  }

  async *listAt(prefix: string, revision: number): AsyncGenerator<KeyState, void, undefined> {
    const slices = this.#slices()
    const segments = this.#contiguous()
    const last = holding(segments, revision)
    if (last < 0) return
    const seen = new Set<string>()
    for (const segment of searchOrder(segments, last)) {
      // A list without the keys of a segment would be wrong.
      const content = await this.#mustOpen(segment)
      for (const [key, entries] of content.withPrefix(prefix)) {
        if (seen.has(key)) continue
        const found = stateEntry(content, entries, revision)
        if (found === undefined) continue
        seen.add(key)
        yield { key, state: await readState(content, found) }
        await slices.pause()
      }
      await slices.pause()
    }
  }

  async *range(options: RangeOptions): AsyncGenerator<readonly RangeRecord[], void, undefined> {
    const { afterRevision, signal, prefixes, withValues: withValue = false } = options
    const slices = this.#slices()
    const segments = this.#options.segments()
    const lastRevision = segments.reduce((last, segment) => Math.max(last, segment.lastRevision), 0)
    const untilRevision = Math.min(options.untilRevision ?? Infinity, lastRevision)
    for (const segment of segments) {
      if (segment.lastRevision <= afterRevision || segment.base.revision >= untilRevision) continue
      const content = await this.#open(segment)
      if (content === undefined) continue
      let batch: RangeRecord[] = []
      let batchBytes = 0
      for (let entry = firstAfter(content, afterRevision); entry < content.count; entry++) {
        signal?.throwIfAborted()
        if (content.revision(entry) > untilRevision) break
        const key = content.key(entry)
        if (prefixes?.every(prefix => !key.startsWith(prefix)) !== true) {
          const record = await this.#attempt(segment, () => content.read(entry, { withValue }))
          if (record === undefined) break
          batch.push(record)
          batchBytes += withValue ? content.valueBytes(entry) : 0
        }
        if (batch.length >= batchRecords || batchBytes >= batchBytesMax) {
          yield batch
          batch = []
          batchBytes = 0
        }
        await slices.pause()
      }
      if (batch.length > 0) yield batch
    }
  }

  async revisionAt(timeMs: number): Promise<number | undefined> {
    const segments = this.#contiguous()
    for (const segment of segments.toReversed()) {
      if (segment.minTimeMs > timeMs) continue
      const content = await this.#open(segment)
      for (let entry = (content?.count ?? 0) - 1; entry >= 0; entry--)
        if (content!.timeMs(entry) <= timeMs) return content!.revision(entry)
    }
    const base = this.retainedSince()
    return base && base.timeMs <= timeMs ? base.revision : undefined
  }

  /** Undefined when a segment is damaged. */
  async #stateIn(
    segments: readonly Segment[],
    { last, key, revision }: { readonly last: number; readonly key: string; readonly revision: number },
  ): Promise<StateAt | undefined> {
    const slices = this.#slices()
    for (const segment of searchOrder(segments, last)) {
      if (!segment.mayContain(key)) continue
      const content = await this.#open(segment)
      if (content === undefined) return undefined
      const found = stateEntry(content, content.entriesOf(key), revision)
      if (found) return this.#attempt(segment, () => readState(content, found))
      await slices.pause()
    }
    return { type: 'unchanged' }
  }

  /** The newest segments between which no record is missing. */
  #contiguous(): readonly Segment[] {
    const segments = this.#options.segments()
    let first = segments.length
    while (first > 0) {
      const segment = segments[first - 1]!
      const next = segments[first]
      if (segment.isDamaged || (next && next.base.revision !== segment.lastRevision)) break
      first--
    }
    return segments.slice(first)
  }

  #slices(): TimeSlices {
    return new TimeSlices(this.#options.clock, 'history')
  }

  async #open(segment: Segment): Promise<SegmentContent | undefined> {
    return segment.isDamaged ? undefined : this.#attempt(segment, () => segment.open())
  }

  async #mustOpen(segment: Segment): Promise<SegmentContent> {
    const content = await this.#open(segment)
    if (content === undefined) throw new Error(`segment ${segment.number} of the history is not readable`)
    return content
  }

  async #attempt<T>(segment: Segment, read: () => Promise<T>): Promise<T | undefined> {
    try {
      return await read()
    } catch (error) {
      this.#options.onDamage(segment, error)
      // The segment may have been removed meanwhile.
      if (!segment.isDamaged && this.#options.segments().includes(segment)) throw error
      return undefined
    }
  }
}

/** Bounds what a reader of a range has in memory. */
const batchRecords = 256
const batchBytesMax = 1024 * 1024

/** The index of the segment that a revision is in; -1 if it is before all of them. */
function holding(segments: readonly Segment[], revision: number): number {
  return segments.findLastIndex(({ base }) => base.revision <= revision)
}

/**
 * The first segment that knows a key decides its state: the segment of the revision, those before, of which
 * the newest entry counts, then those after, whose first entry has the previous version.
 */
function searchOrder(segments: readonly Segment[], last: number): readonly Segment[] {
  return [...segments.slice(0, last + 1).toReversed(), ...segments.slice(last + 1)]
}

type StateEntry =
  | 'absent'
  | { readonly entry: number; readonly revision: number; readonly isPrevious: boolean }

/** Where the state of a key at a revision is; undefined if there are no entries. */
function stateEntry(
  content: SegmentContent,
  entries: ArrayLike<number>,
  revision: number,
): StateEntry | undefined {
  for (let index = entries.length - 1; index >= 0; index--) {
    const entry = entries[index]!
    const entryRevision = content.revision(entry)
    if (entryRevision > revision) continue
    return content.type(entry) === 'DELETED'
      ? 'absent'
      : { entry, revision: entryRevision, isPrevious: false }
  }
  const first = entries[0]
  if (first === undefined) return undefined
  const previousRevision = content.previousRevision(first)
  if (previousRevision === undefined) return 'absent'
  return { entry: first, revision: previousRevision, isPrevious: true }
}

async function readState(content: SegmentContent, found: StateEntry): Promise<StateAt> {
  if (found === 'absent') return { type: 'absent' }
  const { entry, revision, isPrevious } = found
  const value = isPrevious ? await content.readPrevious(entry) : await content.readValue(entry)
  return { type: 'version', revision, value }
}
