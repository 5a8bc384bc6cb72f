/** A part of the log with consecutive revisions: the open one in memory, or a sealed one. */
import type { RetainedSince } from '../history-log.ts'
import type { RangeRecord, RecordType } from '../history-record.ts'

export interface Segment {
  readonly number: number
  /** The last record before the segment: after its revision, up to `lastRevision`, no record is missing. */
  readonly base: RetainedSince
  readonly lastRevision: number
  readonly lastTimeMs: number
  readonly minTimeMs: number
  readonly isDamaged: boolean
  /** False if no entry is about the key; true if that is not known. */
  mayContain(key: string): boolean
  open(): Promise<SegmentContent>
}

/** Entries are numbered from 0, in ascending order of revision. Methods throw if the segment is damaged. */
export interface SegmentContent {
  readonly count: number
  revision(entry: number): number
  timeMs(entry: number): number
  key(entry: number): string
  type(entry: number): RecordType
  valueBytes(entry: number): number
  /** Of the first entry of a key in a segment, unless it was created then. */
  previousRevision(entry: number): number | undefined
  /** Ascending. */
  entriesOf(key: string): ArrayLike<number>
  withPrefix(prefix: string): Iterable<readonly [string, ArrayLike<number>]>
  read(entry: number, options: { readonly withValue: boolean }): Promise<RangeRecord>
  readValue(entry: number): Promise<Uint8Array>
  readPrevious(entry: number): Promise<Uint8Array>
}

/** The first entry after a revision. */
export function firstAfter(content: SegmentContent, revision: number): number {
  let low = 0
  let high = content.count
  while (low < high) {
    const middle = (low + high) >>> 1
    if (content.revision(middle) <= revision) low = middle + 1
    else high = middle
  }
  return low
}
