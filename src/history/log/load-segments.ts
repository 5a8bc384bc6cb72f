/**
 * Finds the segments in a storage. A damaged one is reported, and kept in the list so that the gap is known.
 */
import type { LruMap } from '#/base/lru-map.ts'
import { messageOf } from '#/base/message-of.ts'
import type { Clock, Log } from '#/platform/platform.ts'
import { TimeSlices } from '#/platform/time-slices.ts'
import { decodeFrames, decodeJournalHeader, journalHeaderBytes } from './journal.ts'
import { OpenSegment } from './open-segment.ts'
import { SealedSegment } from './sealed-segment.ts'
import { decodeTrailer, trailerBytes, type SegmentIndex, type SegmentTrailer } from './segment-file.ts'
import type { SegmentMemory } from './segment-memory.ts'
import type { SegmentStorage } from './segment-storage.ts'

export interface LoadOptions {
  readonly storage: SegmentStorage
  readonly clock: Clock
  readonly log: Log
  readonly indexes: LruMap<number, SegmentIndex>
  readonly memory: SegmentMemory
}

export interface LoadedSegments {
  readonly sealed: SealedSegment[]
  /** Segments that are not the newest and were not sealed. */
  readonly full: OpenSegment[]
  readonly open: OpenSegment | undefined
  readonly nextNumber: number
}

export async function loadSegments(options: LoadOptions): Promise<LoadedSegments> {
  const { storage, indexes, log } = options
  const stored = await storage.list()
  const journals = new Set(stored.journals)
  const sealed: SealedSegment[] = []
  for (const { number, sizeBytes } of stored.segments) {
    const trailer = await readTrailer(options, number, sizeBytes)
    if (trailer) {
      // A crash after the segment was sealed left its journal.
      if (journals.delete(number)) await storage.removeJournal(number)
    } else {
      log.warn('Segment of the history is damaged', { segment: number })
      if (journals.has(number)) continue
    }
    const openRead = (): ReturnType<SegmentStorage['openSegment']> => storage.openSegment(number)
    const segment = new SealedSegment({
      number,
      sizeBytes,
      trailer: trailer ?? damagedTrailer,
      openRead,
      indexes,
    })
    segment.isDamaged = trailer === undefined
    sealed.push(segment)
  }
  const lastNumber = Math.max(0, stored.segments.at(-1)?.number ?? 0, stored.journals.at(-1) ?? 0)
  const full: OpenSegment[] = []
  let open: OpenSegment | undefined
  for (const number of journals) {
    const segment = await readJournal(options, number)
    if (segment === undefined) continue
    if (number === lastNumber) open = segment
    else full.push(segment)
  }
  return { sealed, full, open, nextNumber: lastNumber + 1 }
}

async function readTrailer(
  { storage, log }: LoadOptions,
  number: number,
  sizeBytes: number,
): Promise<SegmentTrailer | undefined> {
  try {
    await using file = await storage.openSegment(number)
    return decodeTrailer(file.read(Math.max(0, sizeBytes - trailerBytes), trailerBytes))
  } catch (error) {
    log.warn('Segment of the history cannot be read', { segment: number, error: messageOf(error) })
    return undefined
  }
}

/** Undefined if there is nothing in it. */
async function readJournal(options: LoadOptions, number: number): Promise<OpenSegment | undefined> {
  const { storage, clock, log } = options
  const slices = new TimeSlices(clock, 'history')
  try {
    const bytes = await storage.readJournal(number)
    const content = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    const base = decodeJournalHeader(content)
    if (base === undefined) {
      await storage.removeJournal(number)
      return undefined
    }
    const segment = new OpenSegment({ number, base, memory: options.memory })
    segment.storedBytes = journalHeaderBytes
    for (const frame of decodeFrames(content)) {
      segment.restore(frame)
      await slices.pause()
    }
    return segment
  } catch (error) {
    log.warn('Journal of the history cannot be read', { segment: number, error: messageOf(error) })
    return undefined
  }
}

const damagedTrailer: SegmentTrailer = {
  base: { revision: -1, timeMs: 0 },
  lastRevision: -1,
  // It is removed as soon as it is the oldest one.
  lastTimeMs: 0,
  minTimeMs: 0,
  indexAt: 0,
  indexLength: 0,
  indexRawLength: 0,
  indexChecksum: 0,
}
