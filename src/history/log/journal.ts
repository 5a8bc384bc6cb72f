/**
 * The file of the open segment: a header, and a frame for the records of about a second. A frame is a
 * checksum, the compressed entries with their details, and the compressed values. After a crash the frames up
 * to the first incomplete one are read.
 */
import { crc32 } from 'node:zlib'
import { unpooledConcat } from '#/base/unpooled-bytes.ts'
import type { RetainedSince } from '../history-log.ts'
import { compress, decompress } from './compression.ts'

export interface Frame {
  readonly bytes: Uint8Array
  /** The compressed values, a part of `bytes`. */
  readonly values: Uint8Array
  readonly valuesRawLength: number
}

export interface FrameContent {
  /** The encoded entries. */
  readonly table: Uint8Array
  readonly details: readonly Uint8Array[]
  readonly values: Uint8Array
}

export function encodeFrame({ table, details, values }: FrameContent): Frame {
  const prefix = new Uint8Array(tableAt)
  new DataView(prefix.buffer).setUint32(0, table.length, true)
  const head = unpooledConcat([prefix, table, ...details])
  const [compressedHead, compressedValues] = [compress(head), compress(values)]
  const valuesAt = frameHeaderBytes + compressedHead.length
  const bytes = Buffer.allocUnsafeSlow(valuesAt + compressedValues.length)
  const lengths = [compressedHead.length, head.length, compressedValues.length, values.length]
  bytes.writeUInt32LE(frameMagic, 0)
  for (const [index, length] of lengths.entries()) bytes.writeUInt32LE(length, 8 + index * 4)
  bytes.set(compressedHead, frameHeaderBytes)
  bytes.set(compressedValues, valuesAt)
  bytes.writeUInt32LE(crc32(bytes.subarray(8)), 4)
  return { bytes, values: bytes.subarray(valuesAt), valuesRawLength: values.length }
}

export function encodeJournalHeader({ revision, timeMs }: RetainedSince): Uint8Array {
  const bytes = Buffer.alloc(journalHeaderBytes)
  bytes.writeUInt32LE(journalMagic, 0)
  bytes.writeDoubleLE(revision, 8)
  bytes.writeDoubleLE(timeMs, 16)
  bytes.writeUInt32LE(crc32(bytes.subarray(8)), 4)
  return bytes
}

/** Undefined if this is not a journal. */
export function decodeJournalHeader(content: Buffer): RetainedSince | undefined {
  if (content.length < journalHeaderBytes || content.readUInt32LE(0) !== journalMagic) return undefined
  if (crc32(content.subarray(8, journalHeaderBytes)) !== content.readUInt32LE(4)) return undefined
  return { revision: content.readDoubleLE(8), timeMs: content.readDoubleLE(16) }
}

export interface DecodedFrame extends Frame {
  readonly table: Uint8Array
  readonly details: Uint8Array
  /** Position in the file. */
  readonly endBytes: number
}

/** Ends at the first frame that is incomplete or damaged. */
export function* decodeFrames(content: Buffer): Generator<DecodedFrame, void, undefined> {
  for (let at = journalHeaderBytes; at + frameHeaderBytes <= content.length;) {
    if (content.readUInt32LE(at) !== frameMagic) return
    const headLength = content.readUInt32LE(at + 8)
    const end = at + frameHeaderBytes + headLength + content.readUInt32LE(at + 16)
    if (end > content.length || crc32(content.subarray(at + 8, end)) !== content.readUInt32LE(at + 4)) return
    const headEnd = at + frameHeaderBytes + headLength
    const head = decompress(content.subarray(at + frameHeaderBytes, headEnd), content.readUInt32LE(at + 12))
    const tableEnd = tableAt + new DataView(head.buffer, head.byteOffset).getUint32(0, true)
    yield {
      bytes: content.subarray(at, end),
      values: content.subarray(headEnd, end),
      valuesRawLength: content.readUInt32LE(at + 20),
      table: head.subarray(tableAt, tableEnd),
      details: head.subarray(tableEnd),
      endBytes: end,
    }
    at = end
  }
}

const journalMagic = 0x32_6a_68_6b
const frameMagic = 0x32_66_68_6b

export const journalHeaderBytes = 24
const frameHeaderBytes = 24
/** Behind the length of the table, where its columns are aligned. */
const tableAt = 8
