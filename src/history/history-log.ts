/**
 * An append-only log of all versions of objects, independent of the store's compaction. It is not
 * acknowledged data: a crash may lose the last second, and an error of the disk leaves a gap but never fails
 * a write of the API.
 */
import { LruMap } from '#/base/lru-map.ts'
import type { Platform } from '#/platform/platform.ts'
import { ThrottledLog } from '#/platform/throttled-log.ts'
import type { HistoryRecord, NewRecord, RangeRecord, StateAt } from './history-record.ts'
import { FolderStorage } from './log/folder-storage.ts'
import { HistoryReader } from './log/history-reader.ts'
import { HistoryWriter } from './log/history-writer.ts'
import { loadSegments } from './log/load-segments.ts'
import type { SegmentIndex } from './log/segment-file.ts'
import { SegmentMemory } from './log/segment-memory.ts'
import { memoryStorage } from './log/segment-storage.ts'

export interface HistoryLog extends AsyncDisposable {
  /**
   * Adds records in ascending order of revision; returns at once. Records at or below `lastRevision` are
   * ignored. Buffered records are readable at once and reach the disk within about a second.
   */
  append(records: readonly NewRecord[]): void
  /**
   * Newest recorded revision, on disk or buffered; 0 when empty. The store's watch continues here after a
   * restart.
   */
  readonly lastRevision: number
  /**
   * Records between `lastRevision` and the next one are missing, e.g. because the store has compacted them.
   * States before the gap are no longer retained; recorded versions are.
   */
  noteGap(): void
  /** States at and after this revision can be read; undefined when nothing is recorded. */
  retainedSince(): Promise<RetainedSince | undefined>
  /** Versions of one key, newest first. */
  versions(key: string, options?: VersionsOptions): AsyncIterable<HistoryRecord>
  /** State of a key at a revision; `expired` if it is before the retained time. */
  at(key: string, revision: number): Promise<StateAt>
  /**
   * State at a revision of every key under a prefix that changed in the retained time, in no order; all other
   * keys are unchanged. Yields nothing before the retained time.
   */
  listAt(prefix: string, revision: number): AsyncIterable<KeyState>
  /** Records of a range of revisions, ascending. */
  range(options: RangeOptions): AsyncIterable<readonly RangeRecord[]>
  /** The last revision at or before a wall time; undefined if that is before the retained time. */
  revisionAt(timeMs: number): Promise<number | undefined>
  /** Forgets everything, e.g. because the store was restored to an older state. */
  reset(): Promise<void>
  readonly status: HistoryStatus
}

/** For users and monitoring. */
export interface HistoryStatus {
  /** Undefined when nothing is recorded. */
  readonly retainedSince: RetainedSince | undefined
  /** Of the compressed records, on disk or in memory. */
  readonly sizeBytes: number
  readonly damagedSegments: number
  /** Since the log was opened. Failed writes are retried. */
  readonly writeFailures: number
  /** Since the log was opened: those that could not be written in time. */
  readonly lostRecords: number
  /** Why the last write failed; undefined after a success. */
  readonly failure: string | undefined
}

export interface RetainedSince {
  readonly revision: number
  readonly timeMs: number
}

export interface VersionsOptions {
  /** Only versions strictly before. */
  readonly beforeRevision?: number
  readonly limit?: number
}

export interface KeyState {
  readonly key: string
  readonly state: StateAt
}

export interface RangeOptions {
  readonly afterRevision: number
  /** Inclusive. */
  readonly untilRevision?: number
  /** Only keys with one of these prefixes; all keys if absent. */
  readonly prefixes?: readonly string[]
  /** Values are compressed apart from the rest, so a range without them is cheap. */
  readonly withValues?: boolean
  readonly signal?: AbortSignal
}

export interface HistoryLogOptions {
  readonly platform: Pick<Platform, 'clock' | 'files' | 'log'>
  /** Undefined keeps the history in memory. */
  readonly folder: string | undefined
  readonly maxAgeMs: number
  readonly maxBytes: number
  /** Size of values at which a segment is sealed. */
  readonly segmentRawBytes?: number
}

export async function openHistoryLog(options: HistoryLogOptions): Promise<HistoryLog> {
  const { platform, folder, maxAgeMs, maxBytes, segmentRawBytes = defaultSegmentRawBytes } = options
  const { clock, files, log } = platform
  const storage = folder === undefined ? memoryStorage() : await FolderStorage.open(files, folder)
  const indexes = new LruMap<number, SegmentIndex>(loadedIndexesMax)
  const memory = new SegmentMemory()
  const loaded = await loadSegments({ storage, clock, log, indexes, memory })
  const throttled = new ThrottledLog({ clock, log })
  const writer = new HistoryWriter(
    { storage, clock, log: throttled, maxAgeMs, maxBytes, segmentRawBytes, indexes, memory },
    loaded,
  )
  const reader = new HistoryReader({
    clock,
    segments: () => writer.segments,
    onDamage: (segment, error) => writer.noteDamage(segment, error),
  })
  return new SegmentedHistoryLog(writer, reader)
}

class SegmentedHistoryLog implements HistoryLog {
  readonly #writer: HistoryWriter
  readonly #reader: HistoryReader

  constructor(writer: HistoryWriter, reader: HistoryReader) {
    this.#writer = writer
    this.#reader = reader
  }

  get lastRevision(): number {
    return this.#writer.lastRevision
  }

  append(records: readonly NewRecord[]): void {
    this.#writer.append(records)
  }

  noteGap(): void {
    this.#writer.noteGap()
  }

  async retainedSince(): Promise<RetainedSince | undefined> {
    await this.#writer.expire()
    return this.#reader.retainedSince()
  }

  async *versions(key: string, options?: VersionsOptions): AsyncGenerator<HistoryRecord, void, undefined> {
    await this.#writer.expire()
    yield* this.#reader.versions(key, options)
  }

  async at(key: string, revision: number): Promise<StateAt> {
    await this.#writer.expire()
    return this.#reader.at(key, revision)
  }

  async *listAt(prefix: string, revision: number): AsyncGenerator<KeyState, void, undefined> {
    await this.#writer.expire()
    yield* this.#reader.listAt(prefix, revision)
  }

  async *range(options: RangeOptions): AsyncGenerator<readonly RangeRecord[], void, undefined> {
    await this.#writer.expire()
    yield* this.#reader.range(options)
  }

  async revisionAt(timeMs: number): Promise<number | undefined> {
    await this.#writer.expire()
    return this.#reader.revisionAt(timeMs)
  }

  reset(): Promise<void> {
    return this.#writer.reset()
  }

  get status(): HistoryStatus {
    return { ...this.#writer.status, retainedSince: this.#reader.retainedSince() }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#writer[Symbol.asyncDispose]()
  }
}

const defaultSegmentRawBytes = 8 * 1024 * 1024

/** Each takes up to a megabyte. */
const loadedIndexesMax = 8
