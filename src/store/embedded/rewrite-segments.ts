/**
 * Replaces adjacent segments by one that has only the records that are still needed, while the store is in use.
 * Damage that is found on the way ends it: damage is never rewritten.
 */
import { join } from 'node:path'
import type { Clock, Files } from '#/platform/platform.ts'
import type { Version } from '../local/version.ts'
import type { Damage } from './damage.ts'
import { locationOf } from './location.ts'
import { segmentName, type SegmentFormat } from './segment-header.ts'
import { SegmentWriter } from './segment-writer.ts'
import type { Segment, Segments } from './segments.ts'
import { verifiedRecords } from './verified-records.ts'

export interface RewriteOptions {
  readonly files: Files
  readonly clock: Clock
  readonly folder: string
  readonly segments: Segments
  /** Adjacent; without the active one. */
  readonly run: readonly Segment[]
  readonly compacted: number
  /** A version that is in the history; undefined when it was compacted. */
  readonly find: (key: string, revision: number) => Version | undefined
  readonly onDamage: (damage: Damage) => void
  /** Ends it without a change. */
  readonly signal: AbortSignal
}

export async function rewriteSegments(options: RewriteOptions): Promise<void> {
  const { files, clock, folder, run, signal } = options
  const [first, last] = [run[0]!, run.at(-1)!]
  const { storeId, previous } = first.header
  const hasNotes = run.some(({ header }) => header.format === 3)
  const format: SegmentFormat = hasNotes ? 3 : 2
  const header = { format, storeId, first: first.header.first, last: last.header.last, previous }
  const name = segmentName(header)
  const path = join(folder, name)
  await using writer = await SegmentWriter.open({ files, clock, path, header, end: last.chain })
  const kept: KeptRecord[] = []
  await writer.add({ type: 'compact', revision: options.compacted })
  for (const segment of run) {
    for await (const { record, encoded } of verifiedRecords(segment, options)) {
      if (signal.aborted) return
      if (record.type !== 'put' && record.type !== 'delete') continue
      const { key, revision, createRevision, isDeletion } = record.version
      const isHiding = isDeletion && options.segments.hidesGarbage(createRevision, first)
      if (!isHiding && !options.find(key, revision)) continue
      const target: KeptRecord = { key, revision, isDeletion, sizeBytes: encoded.length, positionBytes: 0 }
      kept.push(target)
      await writer.add({ type: 'encoded', bytes: encoded }, positionBytes => {
        target.positionBytes = positionBytes
      })
    }
  }
  const { header: written, endBytes } = await writer.finish()
  const reader = await files.openRead(path)
  takePlace(options, {
    name,
    header: written,
    reader,
    endBytes,
    fileBytes: endBytes,
    chain: last.chain,
    lastRevision: last.lastRevision,
    kept,
  })
  for (const replaced of run) {
    await replaced.reader[Symbol.asyncDispose]()
    if (replaced.name !== name) await files.remove(join(folder, replaced.name))
  }
}

interface KeptRecord {
  readonly key: string
  readonly revision: number
  readonly isDeletion: boolean
  readonly sizeBytes: number
  positionBytes: number
}

/** Synchronous, so that no reader sees a version between two places. */
function takePlace(
  { segments, run, find }: RewriteOptions,
  rewritten: Omit<Segment, 'liveBytes' | 'garbageCount' | 'hidingBytes'> & {
    readonly kept: readonly KeptRecord[]
  },
): void {
  const { kept, ...content } = rewritten
  const segment: Segment = { ...content, liveBytes: 0, garbageCount: 0, hidingBytes: 0 }
  for (const { key, revision, isDeletion, sizeBytes, positionBytes } of kept) {
    const version = find(key, revision)
    if (version) {
      version.location = locationOf(segment.header.last, positionBytes)
      segment.liveBytes += sizeBytes
    } else if (isDeletion) {
      segment.hidingBytes += sizeBytes
    } else {
      // It was compacted meanwhile.
      segment.garbageCount++
    }
  }
  segments.replace(run, segment)
}
