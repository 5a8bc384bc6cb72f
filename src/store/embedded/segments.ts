/** The files of the log, in order, and how much of each is still needed. */
import type { ReadFile } from '#/platform/platform.ts'
import type { Version } from '../local/version.ts'
import { segmentAt } from './location.ts'
import type { SegmentContent } from './read-log.ts'

export interface Segment extends SegmentContent {
  readonly reader: ReadFile
  endBytes: number
  fileBytes: number
  chain: SegmentContent['chain']
  lastRevision: number
  /** Size of the records of versions in the history. */
  liveBytes: number
  /** Number of records of versions that were compacted. */
  garbageCount: number
  /** Size of the records of compacted deletions that hide garbage in an earlier segment. */
  hidingBytes: number
}

export class Segments {
  readonly #inOrder: Segment[] = []
  readonly #byLast = new Map<number, Segment>()
  #liveBytes = 0

  get all(): readonly Segment[] {
    return this.#inOrder
  }

  /** The segments that never change any more. */
  get sealed(): readonly Segment[] {
    return this.#inOrder.slice(0, -1)
  }

  /** Size of the records of all versions in the history. */
  get liveBytes(): number {
    return this.#liveBytes
  }

  /** The segment that is written to; undefined before the first one. */
  get active(): Segment | undefined {
    return this.#inOrder.at(-1)
  }

  holding({ location }: Version): Segment | undefined {
    return this.#byLast.get(segmentAt(location))
  }

  add(segment: Segment): void {
    this.#inOrder.push(segment)
    this.#byLast.set(segment.header.last, segment)
  }

  replace(run: readonly Segment[], by: Segment): void {
    for (const { header } of run) this.#byLast.delete(header.last)
    this.#byLast.set(by.header.last, by)
    const index = this.#inOrder.indexOf(run[0]!)
    this.#inOrder.splice(index, run.length, by)
    // The garbage of the run is gone, so deletions in later segments may not be needed any more.
    for (const later of this.#inOrder.slice(index + 1)) later.hidingBytes = 0
  }

  noteLive(version: Version): void {
    this.holding(version)!.liveBytes += version.sizeBytes
    this.#liveBytes += version.sizeBytes
  }

  noteGarbage(version: Version): void {
    const segment = this.holding(version)!
    segment.liveBytes -= version.sizeBytes
    this.#liveBytes -= version.sizeBytes
    segment.garbageCount++
  }

  /** True if the deletion of an object created at this revision may hide a record in an earlier segment. */
  hidesGarbage(createRevision: number, before: Segment): boolean {
    for (const segment of this.#inOrder) {
      if (segment === before) return false
      if (segment.garbageCount > 0 && segment.lastRevision >= createRevision) return true
    }
    return false
  }
}
