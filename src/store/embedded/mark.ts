/**
 * The end of the acknowledged log, kept outside it: a lost end of the log, a missing and a replaced file are
 * recognized by it. It is written after the sync of each commit and before the write is acknowledged.
 *
 * It is not synced with each commit. After `kill -9` it is exact; after a power failure it may be older than the
 * log, never newer.
 */
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import type { Files } from '#/platform/platform.ts'
import type { Chain } from './frame.ts'

export interface Mark {
  readonly storeId: string
  /** The last acknowledged revision. */
  readonly revision: number
  /** The number of the segment that ends with the last commit, and the end of that commit. */
  readonly segment: number
  readonly positionBytes: number
  readonly chain: Chain
}

/** Where the files of an embedded store are. */
export interface StorePlace {
  /** Used exclusively by the store. */
  readonly folder: string
  /** Path of a second copy of the mark, outside the folder of the store. */
  readonly markCopy?: string
}

export function markPaths({ folder, markCopy }: StorePlace): string[] {
  return [join(folder, 'mark'), ...(markCopy === undefined ? [] : [markCopy])]
}

/** A mark that was read, and the slot that it was in. */
export interface StoredMark extends Mark {
  readonly slot: number
}

/** The newest mark of a store; undefined when all are missing or damaged. */
export async function readMark(
  files: Pick<Files, 'stat' | 'read'>,
  paths: readonly string[],
): Promise<StoredMark | undefined> {
  const marks = paths.map(async path =>
    (await files.stat(path)) ? decodeMarks(await files.read(path)) : undefined,
  )
  return newestMark(await Promise.all(marks))
}

/** The mark is written to two slots alternately, so that an interrupted write leaves the one before. */
export function slotPosition(count: number): number {
  return (count % slots) * slotBytes
}

export function encodeMark({ storeId, revision, segment, positionBytes, chain }: Mark): Buffer<ArrayBuffer> {
  const bytes = Buffer.from(new ArrayBuffer(markBytes))
  bytes.write(magic, 0, 'latin1')
  bytes.writeDoubleLE(revision, 8)
  bytes.writeDoubleLE(segment, 16)
  bytes.writeDoubleLE(positionBytes, 24)
  bytes.set(chain, 32)
  bytes.write(storeId, 64, 'latin1')
  bytes.writeUInt32LE(crc32(bytes.subarray(0, checksumAt)), checksumAt)
  return bytes
}

/** The content of a new file with this mark in its first slot. */
export function markFile(mark: Uint8Array): Uint8Array {
  const content = new Uint8Array(slots * slotBytes)
  content.set(mark)
  return content
}

/** The newest mark in a file; undefined when both slots are damaged. */
export function decodeMarks(content: Uint8Array): StoredMark | undefined {
  const marks = Array.from({ length: slots }, (_, slot) => decodeSlot(content, slot))
  return newestMark(marks)
}

function newestMark(marks: readonly (StoredMark | undefined)[]): StoredMark | undefined {
  return marks.reduce((newest, mark) => (isNewer(mark, newest) ? mark : newest), undefined)
}

/** A repair begins again with the first segment, at a much higher revision. */
function isNewer(mark: StoredMark | undefined, than: StoredMark | undefined): boolean {
  if (mark === undefined || than === undefined) return mark !== undefined
  const difference =
    mark.revision - than.revision || mark.segment - than.segment || mark.positionBytes - than.positionBytes
  return difference > 0
}

function decodeSlot(content: Uint8Array, slot: number): StoredMark | undefined {
  const position = slotPosition(slot)
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.length).subarray(
    position,
    position + markBytes,
  )
  if (bytes.length < markBytes || bytes.toString('latin1', 0, magic.length) !== magic) return undefined
  if (crc32(bytes.subarray(0, checksumAt)) !== bytes.readUInt32LE(checksumAt)) return undefined
  return {
    slot,
    revision: bytes.readDoubleLE(8),
    segment: bytes.readDoubleLE(16),
    positionBytes: bytes.readDoubleLE(24),
    chain: Buffer.from(bytes.subarray(32, 64)),
    storeId: bytes.toString('latin1', 64, 64 + storeIdBytes),
  }
}

const magic = 'k8tsmrk1'
const slots = 2
/** A slot is a disk sector of its own. */
const slotBytes = 4_096
/** A UUID as text. */
const storeIdBytes = 36
const checksumAt = 64 + storeIdBytes
const markBytes = checksumAt + 4
