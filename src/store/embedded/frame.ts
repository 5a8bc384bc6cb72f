/**
 * The unit of a commit in the log of the embedded store: a frame is written and synced as a whole, and contains
 * one record for each version.
 *
 * A frame is its magic number, a checksum of all that follows, the length of its records, the chain of the frame
 * before, and the records. The chain of a frame is a hash over the chain before it and its records:
 * it identifies the whole log up to there. Each record has a checksum of its own, so that a value can be verified
 * without reading its frame. A record is its checksum, type, length of the note, of the key and of the value, revision,
 * create revision and time of expiry, then key, value and note. Numbers are little-endian.
 */
import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { Version, VersionContent } from '../local/version.ts'
import { noteBytesMax } from '../store.ts'

/** A hash over the log up to a frame; 32 bytes. */
export type Chain = Uint8Array

export type LogRecord =
  | { readonly type: 'put' | 'delete'; readonly version: Version }
  /** States before this revision can no longer be read. */
  | { readonly type: 'compact'; readonly revision: number }
  /** The store continues after this revision, which is compacted: clients must relist. */
  | { readonly type: 'jump'; readonly revision: number }

export interface EncodedFrame {
  readonly bytes: Buffer<ArrayBuffer>
  readonly chain: Chain
  /** Position of each record in `bytes`, followed by the length of the frame. */
  readonly positions: readonly number[]
}

/** A record to write: versions are with their values and notes, and a record may be copied from another frame. */
export type FrameRecord = LogRecord | { readonly type: 'encoded'; readonly bytes: Uint8Array }

export function encodeFrame(records: readonly FrameRecord[], previous: Chain): EncodedFrame {
  let size = frameHeaderBytes
  const positions: number[] = []
  for (const record of records) {
    positions.push(size)
    size += recordSize(record)
  }
  positions.push(size)
  const bytes = Buffer.from(new ArrayBuffer(size))
  for (const [index, record] of records.entries()) writeRecord(bytes, record, positions[index]!)
  bytes.writeUInt32LE(magic, 0)
  bytes.writeUInt32LE(size - frameHeaderBytes, lengthAt)
  bytes.set(previous, chainAt)
  bytes.writeUInt32LE(crc32(bytes.subarray(lengthAt)), checksumAt)
  return { bytes, chain: chainOf(bytes), positions }
}

export interface Frame {
  readonly bytes: Buffer
  /** The chain of the frame before. */
  readonly previous: Chain
}

/** The frame at a position; undefined when there is none or it is damaged. */
export function frameAt(content: Buffer, position: number): Frame | undefined {
  if (position + frameHeaderBytes > content.length) return undefined
  if (content.readUInt32LE(position) !== magic) return undefined
  const end = position + frameHeaderBytes + content.readUInt32LE(position + lengthAt)
  if (end > content.length) return undefined
  const bytes = content.subarray(position, end)
  if (crc32(bytes.subarray(lengthAt)) !== bytes.readUInt32LE(checksumAt)) return undefined
  return { bytes, previous: bytes.subarray(chainAt, frameHeaderBytes) }
}

/** The size of the frame with this header; undefined when it is not that of a frame. */
export function frameSize(header: Buffer): number | undefined {
  if (header.length < frameHeaderBytes || header.readUInt32LE(0) !== magic) return undefined
  return frameHeaderBytes + header.readUInt32LE(lengthAt)
}

/** The record at a position, and if its checksum is right; undefined when there cannot be one. */
export function recordAt(
  content: Buffer,
  position: number,
): (LocatedRecord & { readonly isIntact: boolean }) | undefined {
  if (position + recordHeaderBytes > content.length) return undefined
  if (typeNames[content.readUInt16LE(position + typeAt)] === undefined) return undefined
  if (content.readUInt16LE(position + noteBytesAt) > noteBytesMax) return undefined
  const sizeBytes = encodedRecordSize(content, position)
  if (position + sizeBytes > content.length) return undefined
  const isIntact =
    crc32(content.subarray(position + 4, position + sizeBytes)) === content.readUInt32LE(position)
  return { record: readRecord(content, position), position, sizeBytes, isIntact }
}

export function chainOf(frame: Buffer): Chain {
  return hash('sha256', frame.subarray(chainAt), 'buffer')
}

/** The position of the next intact frame at or after a position; undefined when there is none. */
export function findFrame(content: Buffer, from: number): number | undefined {
  for (let at = content.indexOf(magicBytes, from); at >= 0; at = content.indexOf(magicBytes, at + 1))
    if (frameAt(content, at)) return at
  return undefined
}

export interface LocatedRecord {
  readonly record: LogRecord
  /** Position in the frame. */
  readonly position: number
  readonly sizeBytes: number
}

/** The records of an intact frame; versions are without their values and notes. */
export function* recordsOf({ bytes }: Frame): Generator<LocatedRecord, void, undefined> {
  for (let position = frameHeaderBytes; position < bytes.length;) {
    const sizeBytes = encodedRecordSize(bytes, position)
    yield { record: readRecord(bytes, position), position, sizeBytes }
    position += sizeBytes
  }
}

/** The content of an encoded record; undefined when the record is damaged or is that of another revision. */
export function contentIn(encoded: Uint8Array, revision: number): VersionContent | undefined {
  const bytes = Buffer.from(encoded.buffer, encoded.byteOffset, encoded.length)
  if (bytes.length < recordHeaderBytes || crc32(bytes.subarray(4)) !== bytes.readUInt32LE(0)) return undefined
  const type = typeNames[bytes.readUInt16LE(typeAt)]
  if ((type !== 'put' && type !== 'delete') || bytes.readDoubleLE(revisionAt) !== revision) return undefined
  const valueStart = recordHeaderBytes + bytes.readUInt32LE(keyBytesAt)
  const valueEnd = valueStart + bytes.readUInt32LE(valueBytesAt)
  return {
    value: type === 'put' ? encoded.subarray(valueStart, valueEnd) : undefined,
    note: valueEnd < encoded.length ? encoded.subarray(valueEnd) : undefined,
  }
}

/** As `contentIn`; undefined also for a deletion. */
export function valueIn(encoded: Uint8Array, revision: number): Uint8Array | undefined {
  return contentIn(encoded, revision)?.value
}

/** True if this is the size of the record of a deletion with a note. */
export function isNoted({ key, sizeBytes }: Pick<Version, 'key' | 'sizeBytes'>): boolean {
  return sizeBytes > recordHeaderBytes + Buffer.byteLength(key)
}

function readRecord(bytes: Buffer, position: number): LogRecord {
  const type = typeNames[bytes.readUInt16LE(position + typeAt)]
  const revision = bytes.readDoubleLE(position + revisionAt)
  if (type === 'compact' || type === 'jump') return { type, revision }
  const keyStart = position + recordHeaderBytes
  const version: Version = {
    key: bytes.toString('utf8', keyStart, keyStart + bytes.readUInt32LE(position + keyBytesAt)),
    revision,
    createRevision: bytes.readDoubleLE(position + createRevisionAt),
    isDeletion: type === 'delete',
    value: undefined,
    note: undefined,
    expiresMs: bytes.readDoubleLE(position + expiresAt),
    older: undefined,
    location: 0,
    sizeBytes: encodedRecordSize(bytes, position),
  }
  return { type: version.isDeletion ? 'delete' : 'put', version }
}

function encodedRecordSize(bytes: Buffer, position: number): number {
  return (
    recordHeaderBytes +
    bytes.readUInt32LE(position + keyBytesAt) +
    bytes.readUInt32LE(position + valueBytesAt) +
    bytes.readUInt16LE(position + noteBytesAt)
  )
}

export function recordSize(record: FrameRecord): number {
  if (record.type === 'encoded') return record.bytes.length
  if (record.type === 'compact' || record.type === 'jump') return recordHeaderBytes
  const { key, value, note } = record.version
  return recordHeaderBytes + Buffer.byteLength(key) + (value?.length ?? 0) + (note?.length ?? 0)
}

function writeRecord(bytes: Buffer, record: FrameRecord, position: number): void {
  if (record.type === 'encoded') {
    bytes.set(record.bytes, position)
    return
  }
  let end = position + recordHeaderBytes
  bytes.writeUInt16LE(typeNumbers[record.type], position + typeAt)
  if (record.type === 'compact' || record.type === 'jump') {
    bytes.writeDoubleLE(record.revision, position + revisionAt)
  } else {
    const { key, value, note, revision, createRevision, expiresMs } = record.version
    const keyBytes = bytes.write(key, end)
    bytes.writeUInt32LE(keyBytes, position + keyBytesAt)
    bytes.writeUInt32LE(value?.length ?? 0, position + valueBytesAt)
    bytes.writeDoubleLE(revision, position + revisionAt)
    bytes.writeDoubleLE(createRevision, position + createRevisionAt)
    bytes.writeDoubleLE(expiresMs, position + expiresAt)
    end += keyBytes
    if (value) bytes.set(value, end)
    end += value?.length ?? 0
    if (note) {
      bytes.writeUInt16LE(note.length, position + noteBytesAt)
      bytes.set(note, end)
      end += note.length
    }
  }
  bytes.writeUInt32LE(crc32(bytes.subarray(position + 4, end)), position)
}

const magic = 0x31_66_73_6b
const magicBytes = Buffer.from('ksf1')

const checksumAt = 4
const lengthAt = 8
const chainAt = 12
export const frameHeaderBytes = 44

const typeAt = 4
/** 0 in logs of format 2, where the type has four bytes. */
const noteBytesAt = 6
const keyBytesAt = 8
const valueBytesAt = 12
const revisionAt = 16
const createRevisionAt = 24
const expiresAt = 32
const recordHeaderBytes = 40

const typeNames = [undefined, 'put', 'delete', 'compact', 'jump'] as const
const typeNumbers = { put: 1, delete: 2, compact: 3, jump: 4 } as const
