/** Reads the frames of one segment and verifies checksums and chain. */
import { chainOf, findFrame, frameAt, recordsOf, type Chain, type LogRecord } from './frame.ts'
import { salvageRecords, type DamagedRecord } from './salvage-records.ts'
import { headerBytes } from './segment-header.ts'

export interface ScannedFrame {
  readonly records: Iterable<ScannedRecord>
  /** The end of the frame in the file. */
  readonly endBytes: number
  readonly chain: Chain
  /** The damaged records that were recognized in the place of a damaged frame. */
  readonly damagedRecords?: readonly DamagedRecord[]
}

export interface ScannedRecord {
  readonly record: LogRecord
  /** Includes the header of the record. */
  readonly encoded: Buffer
  /** Position in the file. */
  readonly positionBytes: number
}

export interface ScanOptions {
  /** The chain before the first frame. */
  readonly previous: Chain
  /** Continues after damage, and reads the intact records of damaged frames. */
  readonly salvages?: boolean
}

export interface Scan {
  /** The end of the last frame. */
  readonly endBytes: number
  /** The chain of the last frame. */
  readonly chain: Chain
  /** The position of damage that is followed by an intact frame: it is no interrupted write. */
  readonly damagedAt: number | undefined
}

/** Yields the frames, so that the caller may pause between them. */
export function* scanSegment(
  content: Buffer,
  options: ScanOptions,
): Generator<ScannedFrame, Scan, undefined> {
  const { previous, salvages = false } = options
  let position = headerBytes
  let chain = previous
  let damagedAt: number | undefined
  for (;;) {
    const frame = frameAt(content, position)
    if (frame && (salvages || Buffer.compare(chain, frame.previous) === 0)) {
      chain = chainOf(frame.bytes)
      const startBytes = position
      position += frame.bytes.length
      yield { records: locate(recordsOf(frame), frame.bytes, startBytes), endBytes: position, chain }
      continue
    }
    const next = frame ? position : findFrame(content, position + 1)
    if (next !== undefined) damagedAt ??= position
    if (!salvages) break
    const region = content.subarray(position, next)
    if (!isZero(region)) {
      const { records, damagedRecords } = salvageRecords(region, position)
      yield { records, endBytes: position + region.length, chain, damagedRecords }
    }
    if (next === undefined) break
    position = next
  }
  return { endBytes: position, chain, damagedAt }
}

function* locate(
  records: ReturnType<typeof recordsOf>,
  frame: Buffer,
  frameStart: number,
): Generator<ScannedRecord, void, undefined> {
  for (const { record, position, sizeBytes } of records)
    yield {
      record,
      encoded: frame.subarray(position, position + sizeBytes),
      positionBytes: frameStart + position,
    }
}

function isZero(bytes: Buffer): boolean {
  for (let at = 0; at < bytes.length; at += zeros.length) {
    const part = bytes.subarray(at, at + zeros.length)
    if (Buffer.compare(part, zeros.subarray(0, part.length)) !== 0) return false
  }
  return true
}

const zeros = Buffer.alloc(64 * 1024)
