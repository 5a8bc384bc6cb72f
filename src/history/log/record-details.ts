/** The details of a record: the length of the uid, the uid, and the origin. They are read without the value. */
import type { HistoryRecord } from '../history-record.ts'
import type { RawBlock } from './raw-block.ts'

export type RecordDetails = Pick<HistoryRecord, 'uid' | 'origin'>

export function detailsLength({ uid, origin }: RecordDetails): number {
  return 1 + uidLength(uid) + (origin?.length ?? 0)
}

/** The block has room for them. */
export function addDetails(block: RawBlock, { uid, origin }: RecordDetails): void {
  const { bytes } = block
  const length = uidLength(uid)
  bytes[block.length] = length
  bytes.write(uid, block.length + 1, length, 'latin1')
  block.length += 1 + length
  if (origin) block.add(origin)
}

/** The origin is a part of the bytes. */
export function decodeDetails(encoded: Uint8Array): RecordDetails {
  const end = 1 + encoded[0]!
  const uid = Buffer.from(encoded.buffer, encoded.byteOffset, encoded.length).toString('latin1', 1, end)
  return { uid, origin: encoded.length === end ? undefined : encoded.subarray(end) }
}

function uidLength(uid: string): number {
  return Math.min(uid.length, uidCharactersMax)
}

const uidCharactersMax = 255
