/**
 * Reads and verifies all segments of a store: their headers, checksums, the chain through all of them, gapless
 * revisions, and the mark of what was acknowledged. Nothing is changed.
 */
import { join } from 'node:path'
import type { Files } from '#/platform/platform.ts'
import type { Version } from '../local/version.ts'
import type { Damage } from './damage.ts'
import { findFrame, type Chain } from './frame.ts'
import { locationOf } from './location.ts'
import { readMark, type Mark, type StoredMark } from './mark.ts'
import type { DamagedRecord } from './salvage-records.ts'
import { scanSegment, type Scan, type ScannedRecord } from './scan-segment.ts'
import {
  decodeHeader,
  firstChain,
  formatVersion,
  headerBytes,
  rangeOf,
  type SegmentHeader,
} from './segment-header.ts'

export interface ReadLogOptions {
  readonly files: Pick<Files, 'stat' | 'list' | 'read'>
  readonly folder: string
  /** Paths of the mark: one is enough. */
  readonly marks: readonly string[]
  /** Reads everything that is intact, also after damage. */
  readonly salvages?: boolean
  /** Reads up to the mark only: what follows it may be changed while it is read. */
  readonly isInUse?: boolean
}

export interface SegmentContent {
  readonly name: string
  readonly header: SegmentHeader
  /** The end of the last frame. */
  readonly endBytes: number
  readonly fileBytes: number
  /** The chain that the next segment continues. */
  readonly chain: Chain
  /** Greatest revision of a version in this segment and those before. */
  readonly lastRevision: number
}

export interface LogContent {
  /** Undefined when there is no store. */
  readonly storeId: string | undefined
  readonly segments: readonly SegmentContent[]
  /** Ordered by revision, without values. */
  readonly versions: readonly Version[]
  readonly compacted: number
  readonly mark: StoredMark | undefined
  /** Files that a crash left behind: segments that were replaced, and a segment that was not completed. */
  readonly leftovers: readonly string[]
  readonly damages: readonly Damage[]
  /** Damaged records that were recognized while salvaging. */
  readonly damagedRecords: readonly DamagedRecord[]
}

export async function readLog(options: ReadLogOptions): Promise<LogContent> {
  const reader = new LogReader(options)
  await reader.read()
  return reader
}

class LogReader implements LogContent {
  readonly segments: SegmentContent[] = []
  readonly versions: Version[] = []
  readonly leftovers: string[] = []
  readonly damages: Damage[] = []
  readonly damagedRecords: DamagedRecord[] = []
  readonly #options: ReadLogOptions
  compacted = 0
  mark: StoredMark | undefined
  storeId: string | undefined
  #lastRevision = 0
  /** True if a frame ends where the mark says, with the same chain. */
  #isMarkFound = false

  constructor(options: ReadLogOptions) {
    this.#options = options
  }

  async read(): Promise<void> {
    const { files, folder, marks } = this.#options
    this.mark = await readMark(files, marks)
    this.storeId = this.mark?.storeId
    const names = (await files.stat(folder)) ? await files.list(folder) : []
    const ranges = names.flatMap(name => {
      const range = rangeOf(name)
      return range ? [{ name, ...range }] : []
    })
    // A rewritten segment replaces those in its range.
    const isReplaced = (range: Range): boolean =>
      ranges.some(
        other => other.name !== range.name && other.first <= range.first && other.last >= range.last,
      )
    this.leftovers.push(...ranges.filter(isReplaced).map(({ name }) => name))
    const used = ranges.filter(range => !isReplaced(range)).sort((left, right) => left.first - right.first)
    if (this.mark === undefined && (await this.#isUnfinished(used))) {
      this.leftovers.push(...used.map(({ name }) => name))
      return
    }
    const lastSegment = (this.#options.isInUse ? this.mark?.segment : undefined) ?? Infinity
    await this.#readAll(used.filter(({ first }) => first <= lastSegment))
    this.#checkMark(used.length)
    this.#checkRevisions()
  }

  /** True if there is no store, or a crash interrupted its creation: nothing was acknowledged yet. */
  async #isUnfinished(ranges: readonly Range[]): Promise<boolean> {
    const { files, folder } = this.#options
    const [only, ...others] = ranges
    if (only === undefined) return true
    if (others.length > 0 || only.last !== 1) return false
    return findFrame(toBuffer(await files.read(join(folder, only.name))), 0) === undefined
  }

  async #readAll(ranges: readonly Range[]): Promise<void> {
    let next = 1
    for (const [index, range] of ranges.entries()) {
      if (range.first !== next)
        this.#damage(range.name, {
          reason: `the segments ${next} to ${range.first - 1} before it are missing`,
        })
      next = range.last + 1
      await this.#readSegment(range, index === ranges.length - 1)
    }
  }

  async #readSegment(range: Range, isLast: boolean): Promise<void> {
    const { files, folder } = this.#options
    const file = toBuffer(await files.read(join(folder, range.name)))
    const header = decodeHeader(file)
    if (header === undefined) {
      // The file of a new segment is created before its header is durable.
      if (isLast && range.last > (this.mark?.segment ?? 0) && this.segments.length > 0)
        this.leftovers.push(range.name)
      else this.#damage(range.name, { positionBytes: 0, reason: 'the header of the segment is damaged' })
      if (!this.#options.salvages) return
    }
    if (header && 'newer' in header) {
      throw new Error(
        `${join(folder, range.name)} has format ${header.newer}, and this version of k8ts reads format ` +
          `${formatVersion}: use the version of k8ts that wrote it`,
      )
    }
    this.#checkHeader(range, header)
    // Objects of another store must not be mixed with those of this one.
    if (this.#options.salvages && header && header.storeId !== this.storeId) return
    const content = this.#acknowledged(file, range, header)
    const previous = header?.previous ?? Buffer.alloc(32)
    const frames = scanSegment(content, { previous, salvages: this.#options.salvages ?? false })
    let next = frames.next()
    for (; !next.done; next = frames.next()) {
      const { records, endBytes: positionBytes, chain, damagedRecords = [] } = next.value
      for (const record of records) this.#take(record, range.last)
      this.damagedRecords.push(...damagedRecords)
      this.#compareMark({ segment: range.last, positionBytes, chain })
    }
    if (header) this.#finishSegment({ range, header, scan: next.value, isLast, fileBytes: file.length })
  }

  /** The part of a segment that does not change any more. */
  #acknowledged(file: Buffer, { last }: Range, header: SegmentHeader | undefined): Buffer {
    const { mark } = this
    const isCut = this.#options.isInUse && mark?.segment === last && header?.rewritten === undefined
    return isCut ? file.subarray(0, mark.positionBytes) : file
  }

  #checkHeader(range: Range, header: SegmentHeader | undefined): void {
    if (header === undefined) return
    const { storeId, first, last, previous } = header
    this.storeId ??= storeId
    if (storeId !== this.storeId)
      this.#damage(range.name, { reason: `it belongs to the store ${storeId}, not to ${this.storeId}` })
    if (first !== range.first || last !== range.last)
      this.#damage(range.name, { reason: `it is the segment ${first} to ${last}` })
    const expected = this.segments.at(-1)?.chain ?? firstChain(storeId)
    if (!equal(previous, expected) && this.#isContinued(first))
      this.#damage(range.name, {
        reason: 'it does not continue the segment before it: one of the two was replaced',
      })
    this.#compareMark({ segment: last, positionBytes: headerBytes, chain: previous })
  }

  /** True if the segment before this one was read, so that both can be compared. */
  #isContinued(first: number): boolean {
    return first === 1 || this.segments.at(-1)?.header.last === first - 1
  }

  #finishSegment(read: {
    readonly range: Range
    readonly header: SegmentHeader
    readonly scan: Scan
    readonly isLast: boolean
    readonly fileBytes: number
  }): void {
    const { range, header, scan, isLast, fileBytes } = read
    const { rewritten } = header
    // Its creation was interrupted, and nothing was acknowledged in it. After a failed sync it may not be durable.
    if (isLast && !rewritten && scan.endBytes === headerBytes && range.last > (this.mark?.segment ?? 0)) {
      this.leftovers.push(range.name)
      return
    }
    const positionBytes = scan.damagedAt ?? scan.endBytes
    // Whether another segment is complete shows in the next one, which continues its chain, or in the mark.
    const isIncomplete = rewritten !== undefined && !equal(scan.chain, rewritten.content)
    if (scan.damagedAt !== undefined || isIncomplete)
      this.#damage(range.name, {
        positionBytes,
        reason: `the log is damaged after revision ${this.#lastRevision}`,
      })
    this.segments.push({
      name: range.name,
      header,
      endBytes: scan.endBytes,
      fileBytes,
      chain: rewritten?.end ?? scan.chain,
      lastRevision: this.#lastRevision,
    })
  }

  #take({ record, positionBytes }: ScannedRecord, segment: number): void {
    if (record.type === 'compact' || record.type === 'jump') {
      this.compacted = Math.max(this.compacted, record.revision)
      return
    }
    record.version.location = locationOf(segment, positionBytes)
    this.versions.push(record.version)
    this.#lastRevision = Math.max(this.#lastRevision, record.version.revision)
  }

  #compareMark(frameEnd: Pick<Mark, 'segment' | 'positionBytes' | 'chain'>): void {
    const { mark } = this
    if (mark?.segment === frameEnd.segment && mark.positionBytes === frameEnd.positionBytes)
      this.#isMarkFound = equal(mark.chain, frameEnd.chain)
  }

  #checkMark(segmentCount: number): void {
    const { mark } = this
    const file = this.#options.folder
    if (segmentCount === 0) {
      this.#damage(file, {
        reason: `all files are missing, although revision ${mark?.revision} was acknowledged`,
      })
    } else if (mark === undefined) {
      this.#damage(file, { reason: 'the mark of the last acknowledged revision is missing or damaged' })
    } else if (!this.#isMarkFound && !this.#isMarkOutdated(mark)) {
      const found = Math.max(this.#lastRevision, this.compacted)
      this.#damage(file, {
        reason:
          found < mark.revision
            ? `the log ends at revision ${found}, although revision ${mark.revision} was acknowledged`
            : `the log differs from what was acknowledged up to revision ${mark.revision}`,
      })
    }
  }

  /** The segment of a mark from before a power failure was rewritten since. */
  #isMarkOutdated({ segment, revision }: Mark): boolean {
    const holder = this.segments.find(({ header }) => header.first <= segment && segment <= header.last)
    return holder?.header.rewritten !== undefined && Math.max(this.#lastRevision, this.compacted) >= revision
  }

  #checkRevisions(): void {
    let expected = Math.max(this.compacted, 1) + 1
    for (const { revision } of this.versions) {
      if (revision <= this.compacted) continue
      if (revision !== expected) {
        const missing =
          revision > expected
            ? `revisions ${expected} to ${revision - 1} are missing`
            : `revision ${revision} occurs twice`
        this.#damage(this.#options.folder, { reason: missing })
      }
      expected = revision + 1
    }
  }

  #damage(file: string, damage: Omit<Damage, 'file'>): void {
    this.damages.push({ file, ...damage })
  }
}

interface Range {
  readonly name: string
  readonly first: number
  readonly last: number
}

function toBuffer({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length)
}

function equal(left: Chain, right: Chain): boolean {
  return Buffer.compare(left, right) === 0
}
