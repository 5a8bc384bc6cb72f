/**
 * The log of the embedded store: files of a few megabytes, each a sequence of frames. Commits are appended to the
 * last one, the others never change; those that are mostly garbage are rewritten in the background.
 */
import { join } from 'node:path'
import { assert } from '#/base/assert.ts'
import { messageOf } from '#/base/message-of.ts'
import type { Clock, Files, FileStep, FileWriter, Log } from '#/platform/platform.ts'
import { JournalFullError, type Journal } from '../local/journal.ts'
import type { Version, VersionContent } from '../local/version.ts'
import { StoreError } from '../store.ts'
import type { Damage } from './damage.ts'
import { contentIn, encodeFrame, isNoted, type LogRecord } from './frame.ts'
import { locationOf, positionAt } from './location.ts'
import { encodeMark, slotPosition } from './mark.ts'
import { planRewrite } from './plan-rewrite.ts'
import type { LogContent, SegmentContent } from './read-log.ts'
import { rewriteSegments } from './rewrite-segments.ts'
import { encodeHeader, firstChain, headerBytes, segmentName, type SegmentHeader } from './segment-header.ts'
import { Segments, type Segment } from './segments.ts'
import type { SyncWatchdog } from './sync-watchdog.ts'
import { verifiedRecords } from './verified-records.ts'

export interface SegmentJournalOptions {
  readonly files: Files
  readonly clock: Clock
  readonly log: Log
  readonly folder: string
  readonly storeId: string
  readonly marks: readonly string[]
  /** Size at which the next segment is begun. */
  readonly segmentBytesMax: number
  /** A version that is in the history; undefined when it was compacted. */
  readonly find: (key: string, revision: number) => Version | undefined
  /** Called when damage is found while the store is in use. */
  readonly onDamage: (damage: Damage) => void
  readonly watchdog: SyncWatchdog
}

export class SegmentJournal implements Journal {
  readonly #options: SegmentJournalOptions
  readonly #writer: FileWriter
  readonly #segments = new Segments()
  #compacted: number
  /** Number of syncs of the mark, which selects its slot: the last durable mark is not overwritten. */
  #markSyncs: number
  #markSyncedMs = 0
  #reserves = false
  /** After a failure the state of the files is unknown, and only reading them again shows it. */
  #failure: Error | undefined
  #isDiskFull = false
  #reserving: Promise<void> | undefined
  #rewriting: Promise<void> | undefined
  readonly #closing = new AbortController()

  private constructor(options: SegmentJournalOptions, writer: FileWriter, { compacted, mark }: LogContent) {
    this.#options = options
    this.#writer = writer
    this.#compacted = compacted
    this.#markSyncs = mark === undefined ? 0 : mark.slot + 1
  }

  /** Continues a log that was read without damage, or begins one. `garbage` are the compacted versions in it. */
  static async open(
    options: SegmentJournalOptions,
    content: LogContent,
    garbage: readonly Version[],
  ): Promise<SegmentJournal> {
    const { files, folder } = options
    for (const name of content.leftovers) await files.remove(join(folder, name))
    // Their names are durable from the beginning, also if an earlier attempt to create the store failed.
    if (content.mark === undefined)
      for (const path of options.marks) await files.write(path, new Uint8Array(), { mode: 0o600 })
    const writer = options.watchdog.watched(await files.openWriter())
    const journal = new SegmentJournal(options, writer, content)
    try {
      await journal.#adopt(content)
    } catch (error) {
      await journal.#closeFiles()
      throw error
    }
    for (const version of garbage) journal.#segments.noteGarbage(version)
    return journal
  }

  async append(versions: readonly Version[]): Promise<void> {
    const records = versions.map(toRecord)
    await this.#commit(records, versions)
  }

  readContent(version: Version): VersionContent {
    if (version.isDeletion && !isNoted(version)) return noContent
    const segment = this.#segments.holding(version)
    assert(segment !== undefined, `the log has the segment of revision ${version.revision}`)
    const positionBytes = positionAt(version.location)
    const content = contentAt(segment, version)
    if (content) return content
    const what = version.isDeletion ? 'note' : 'value'
    const reason = `the ${what} of ${version.key} at revision ${version.revision} is damaged`
    this.#options.onDamage({ file: segment.name, positionBytes, reason })
    throw new StoreError('damaged', `${segment.name} at byte ${positionBytes}: ${reason}`)
  }

  async compact(revision: number): Promise<void> {
    await this.#commit([{ type: 'compact', revision }], [])
    this.#compacted = revision
  }

  discard(garbage: readonly Version[]): void {
    for (const version of garbage) this.#segments.noteGarbage(version)
    this.#rewriteSome()
  }

  /** Size of the records of all versions in the history. */
  get usedBytes(): number {
    return this.#segments.liveBytes
  }

  /** The part of the reserved space that is left. */
  get reservedBytes(): number {
    const { fileBytes, endBytes } = this.#segments.active!
    return fileBytes - endBytes
  }

  /** True from a write that had no space until space could be reserved. */
  get isDiskFull(): boolean {
    return this.#isDiskFull
  }

  /** Number of segments that `verify` reads. */
  get sealedCount(): number {
    return this.#segments.sealed.length
  }

  /**
   * Reads the sealed segment that follows the one with this number, or the first one, and verifies it. Resolves with
   * its number; undefined when there is none.
   */
  async verify(after: number): Promise<number | undefined> {
    const { sealed } = this.#segments
    const segment = sealed.find(({ header }) => header.last > after) ?? sealed[0]
    if (segment === undefined) return undefined
    let damage: Damage | undefined
    const onDamage = (found: Damage): void => {
      damage = found
    }
    try {
      for await (const _ of verifiedRecords(segment, { ...this.#options, onDamage }))
        if (this.#closing.signal.aborted) break
    } catch (error) {
      damage ??= { file: segment.name, reason: `cannot be read: ${messageOf(error)}` }
    }
    // The file of a segment that was rewritten meanwhile is gone or has other content.
    const isReplaced = !this.#segments.all.includes(segment)
    if (damage && !isReplaced && !this.#closing.signal.aborted) this.#options.onDamage(damage)
    return segment.header.last
  }

  /**
   * From now on disk space is reserved for writes when the disk is full, e.g. the node's DiskPressure condition
   * and the deletions of pods that free space. A commit inside reserved space also takes less time.
   */
  reserve(): Promise<void> {
    this.#reserves = true
    this.#reserving ??= this.#extendReserve().finally(() => {
      this.#reserving = undefined
    })
    return this.#reserving
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#rewriting
    if (!this.#failure) await this.#writer.perform(this.#markSyncSteps()).catch(() => undefined)
    await this.#closeFiles()
  }

  async #adopt({ segments, versions, mark }: LogContent): Promise<void> {
    for (const content of segments) await this.#addSegment(content)
    for (const version of versions) this.#segments.noteLive(version)
    const last = this.#segments.active
    if (last === undefined || last.header.rewritten) {
      await this.#begin()
      return
    }
    // Removes what an interrupted write left.
    const path = this.#path(last)
    await this.#options.files.truncate(path, last.endBytes)
    last.fileBytes = last.endBytes
    // A sync that failed may have lost what is after the mark, and yet it is still read: it is written again.
    const positionBytes = mark?.segment === last.header.last ? Math.min(mark.positionBytes, last.endBytes) : 0
    const bytes = Uint8Array.from(last.reader.read(positionBytes, last.endBytes - positionBytes))
    await this.#writer.perform([
      { type: 'write', path, positionBytes, bytes },
      { type: 'sync', path },
      ...this.#markSteps(last),
      ...this.#markSyncSteps(),
    ])
    this.#noteMarkSync()
  }

  async #addSegment(content: SegmentContent): Promise<void> {
    const reader = await this.#options.files.openRead(this.#path(content))
    this.#segments.add({ ...content, reader, liveBytes: 0, garbageCount: 0, hidingBytes: 0 })
  }

  /** Begins the next segment. */
  async #begin(): Promise<void> {
    const { storeId, files } = this.#options
    const before = this.#segments.active
    const number = (before?.header.last ?? 0) + 1
    const previous = before?.chain ?? firstChain(storeId)
    const header: SegmentHeader = { format: 3, storeId, first: number, last: number, previous }
    const content: SegmentContent = {
      name: segmentName(header),
      header,
      endBytes: headerBytes,
      fileBytes: headerBytes,
      chain: header.previous,
      lastRevision: before?.lastRevision ?? 0,
    }
    const path = this.#path(content)
    await this.#writer.perform([
      { type: 'write', path, positionBytes: 0, bytes: encodeHeader(header) },
      { type: 'sync', path },
      ...this.#markSteps(content),
      ...this.#markSyncSteps(),
    ])
    this.#noteMarkSync()
    await this.#addSegment(content)
    if (before === undefined || before.header.rewritten) return
    await this.#writer.perform([{ type: 'close', path: this.#path(before) }])
    await files.truncate(this.#path(before), before.endBytes)
    before.fileBytes = before.endBytes
  }

  async #commit(records: readonly LogRecord[], versions: readonly Version[]): Promise<void> {
    if (this.#failure) throw this.#failure
    if (this.#isActiveComplete) await this.#beginUnlessFull()
    const segment = this.#segments.active!
    const { header, endBytes: positionBytes } = segment
    const written = header.format === 2 ? records.map(withoutNote) : records
    const { bytes, chain, positions } = encodeFrame(written, segment.chain)
    const endBytes = positionBytes + bytes.length
    const lastRevision = versions.at(-1)?.revision ?? segment.lastRevision
    const path = this.#path(segment)
    const syncsMark = this.#options.clock.monotonicMs() - this.#markSyncedMs >= markSyncMs
    try {
      await this.#writer.perform([
        { type: 'write', path, positionBytes, bytes },
        { type: 'sync', path },
        ...this.#markSteps({ header, endBytes, chain, lastRevision }),
        ...(syncsMark ? this.#markSyncSteps() : []),
      ])
    } catch (error) {
      if (!isFullDisk(error)) throw this.#fail(error)
      this.#isDiskFull = true
      throw new JournalFullError((error as Error).message)
    }
    if (syncsMark) this.#noteMarkSync()
    for (const [index, version] of versions.entries()) {
      version.location = locationOf(header.last, positionBytes + positions[index]!)
      version.sizeBytes = positions[index + 1]! - positions[index]!
      this.#segments.noteLive(version)
    }
    Object.assign(segment, { endBytes, chain, lastRevision })
    segment.fileBytes = Math.max(segment.fileBytes, endBytes)
    // Space that cannot be reserved is tried again with the next commit.
    if (this.#reserves) this.reserve().catch(() => undefined)
  }

  /** An earlier version of k8ts reads segments of format 2, so they get no notes. */
  get #isActiveComplete(): boolean {
    const { endBytes, header } = this.#segments.active!
    return endBytes >= this.#options.segmentBytesMax || header.format === 2
  }

  async #beginUnlessFull(): Promise<void> {
    try {
      await this.#begin()
    } catch (error) {
      // The active segment has reserved space and is continued.
      if (!isFullDisk(error)) throw this.#fail(error)
    }
  }

  #fail(error: unknown): Error {
    this.#failure = error instanceof Error ? error : new Error(String(error))
    this.#closing.abort()
    return this.#failure
  }

  async #extendReserve(): Promise<void> {
    // What is after the last commit may be one that was written and not confirmed.
    if (this.#failure) throw this.#failure
    const segment = this.#segments.active!
    const { endBytes, fileBytes: positionBytes } = segment
    const reserveBytes = Math.min(reserveBytesMax, this.#options.segmentBytesMax)
    if (positionBytes - endBytes >= reserveBytes && !this.#isDiskFull) return
    const missingBytes = endBytes + reserveBytes + extensionBytes - positionBytes
    // On a full disk only a step is tried.
    const bytes = new Uint8Array(this.#isDiskFull ? extensionBytes : missingBytes)
    segment.fileBytes += bytes.length
    try {
      await this.#writer.perform([{ type: 'write', path: this.#path(segment), positionBytes, bytes }])
      this.#isDiskFull = false
    } catch (error) {
      this.#isDiskFull ||= isFullDisk(error)
      segment.fileBytes = Math.max(segment.endBytes, positionBytes)
      throw error
    }
  }

  #markSteps(end: Pick<SegmentContent, 'header' | 'endBytes' | 'chain' | 'lastRevision'>): FileStep[] {
    const { marks, storeId } = this.#options
    const revision = Math.max(end.lastRevision, this.#compacted)
    const mark = {
      storeId,
      revision,
      segment: end.header.last,
      positionBytes: end.endBytes,
      chain: end.chain,
    }
    const positionBytes = slotPosition(this.#markSyncs)
    return marks.map(path => ({ type: 'write', path, positionBytes, bytes: encodeMark(mark) }))
  }

  #markSyncSteps(): FileStep[] {
    return this.#options.marks.map(path => ({ type: 'sync', path }))
  }

  #noteMarkSync(): void {
    this.#markSyncs++
    this.#markSyncedMs = this.#options.clock.monotonicMs()
  }

  #rewriteSome(): void {
    if (this.#rewriting || this.#closing.signal.aborted) return
    const { segmentBytesMax, log } = this.#options
    const { sealed } = this.#segments
    const usage = sealed.map(({ endBytes, liveBytes, hidingBytes }) => ({
      sizeBytes: endBytes - headerBytes,
      liveBytes: liveBytes + hidingBytes,
    }))
    const range = planRewrite(usage, segmentBytesMax)
    if (range === undefined) return
    const run = sealed.slice(range.from, range.to)
    const segments = this.#segments
    const options = {
      ...this.#options,
      segments,
      run,
      compacted: this.#compacted,
      signal: this.#closing.signal,
    }
    this.#rewriting = rewriteSegments(options)
      .catch((error: unknown) => log.warn('Failed to rewrite segments of the store', { error }))
      .finally(() => {
        this.#rewriting = undefined
      })
  }

  async #closeFiles(): Promise<void> {
    for (const { reader } of this.#segments.all) await reader[Symbol.asyncDispose]()
    await this.#writer[Symbol.asyncDispose]()
  }

  #path({ name }: { readonly name: string }): string {
    return join(this.#options.folder, name)
  }
}

/** The amount that is written in about the time between two compactions of a small cluster. */
const reserveBytesMax = 4 * 1024 * 1024

/** The mark is synced with the first commit after this time: a sync with each would halve their rate. */
const markSyncMs = 5_000

/** The reserve is extended in steps of this size. */
const extensionBytes = 1024 * 1024

/** Undefined when it is damaged or the disk cannot read it. */
function contentAt(
  { reader }: Segment,
  { location, sizeBytes, revision }: Version,
): VersionContent | undefined {
  try {
    return contentIn(reader.read(positionAt(location), sizeBytes), revision)
  } catch {
    return undefined
  }
}

function toRecord(version: Version): LogRecord {
  return { type: version.isDeletion ? 'delete' : 'put', version }
}

function withoutNote(record: LogRecord): LogRecord {
  return 'version' in record && record.version.note
    ? { ...record, version: { ...record.version, note: undefined } }
    : record
}

const noContent: VersionContent = { value: undefined, note: undefined }

/**
 * True if a write failed for lack of space: it had no effect, and is repeated at the same position. The outcome of a
 * failed sync is unknown.
 */
function isFullDisk(error: unknown): boolean {
  const { code, step } = error as { readonly code?: string; readonly step?: number }
  return (code === 'ENOSPC' || code === 'EDQUOT') && step === 0
}
