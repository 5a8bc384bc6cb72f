/**
 * The file of a sealed segment: chunks of compressed values and details, the index, and a trailer of fixed
 * size. The index has the positions of the chunks and the table of entries. Everything read is verified by
 * checksums.
 */
import { crc32 } from 'node:zlib'
import type { ReadFile } from '#/platform/platform.ts'
import type { TimeSlices } from '#/platform/time-slices.ts'
import type { RetainedSince } from '../history-log.ts'
import type { Chunk } from './chunk-reader.ts'
import { compress, decompress } from './compression.ts'
import { encodeTable, EntryTable } from './entry-table.ts'
import { frameRawBytes, type CompressedChunk, type OpenSegment } from './open-segment.ts'

export interface SegmentTrailer {
  readonly base: RetainedSince
  readonly lastRevision: number
  readonly lastTimeMs: number
  readonly minTimeMs: number
  readonly indexAt: number
  readonly indexLength: number
  readonly indexRawLength: number
  readonly indexChecksum: number
}

export interface FileChunk extends Chunk {
  /** Position in the file. */
  readonly at: number
  readonly length: number
  readonly checksum: number
}

export interface SegmentIndex {
  readonly values: readonly FileChunk[]
  readonly details: readonly FileChunk[]
  readonly table: EntryTable
}

/** All records are in chunks, none is buffered. Pauses between chunks. */
export async function encodeSegment(segment: OpenSegment, slices: TimeSlices): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  let at = 0
  const add = (bytes: Uint8Array): void => {
    parts.push(bytes)
    at += bytes.length
  }
  const place = async (chunks: AsyncIterable<CompressedChunk>): Promise<FileChunk[]> => {
    const placed: FileChunk[] = []
    for await (const { start, rawLength, bytes } of chunks) {
      placed.push({ start, rawLength, at, length: bytes.length, checksum: crc32(bytes) })
      add(bytes)
      await slices.pause()
    }
    return placed
  }
  const values = await place(mergeChunks(segment.chunks, slices))
  const details = await place(detailsChunks(segment))
  const { columns } = segment
  const part = { firstEntry: 0, endEntry: columns.count, firstKey: 0, endKey: columns.keys.length }
  const index = encodeIndex({ values, details, table: encodeTable(columns, part) })
  await slices.pause()
  const compressed = compress(index)
  const trailer = encodeTrailer({
    base: segment.base,
    lastRevision: segment.lastRevision,
    lastTimeMs: segment.lastTimeMs,
    minTimeMs: segment.minTimeMs,
    indexAt: at,
    indexLength: compressed.length,
    indexRawLength: index.length,
    indexChecksum: crc32(compressed),
  })
  add(compressed)
  add(trailer)
  return Buffer.concat(parts)
}

/** Undefined if this is not the end of a segment. */
export function decodeTrailer(bytes: Uint8Array): SegmentTrailer | undefined {
  if (bytes.length !== trailerBytes) return undefined
  const trailer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  if (trailer.readUInt32LE(0) !== magic || crc32(trailer.subarray(8)) !== trailer.readUInt32LE(4))
    return undefined
  const [revision, timeMs, lastRevision, lastTimeMs, minTimeMs, indexAt] = Array.from(
    { length: 6 },
    (_, index) => trailer.readDoubleLE(8 + 8 * index),
  ) as [number, number, number, number, number, number]
  return {
    base: { revision, timeMs },
    lastRevision,
    lastTimeMs,
    minTimeMs,
    indexAt,
    indexLength: trailer.readUInt32LE(56),
    indexRawLength: trailer.readUInt32LE(60),
    indexChecksum: trailer.readUInt32LE(64),
  }
}

/** Throws if it is damaged. */
export function readIndex(file: ReadFile, trailer: SegmentTrailer): SegmentIndex {
  const { indexAt, indexLength, indexRawLength, indexChecksum } = trailer
  const compressed = readVerified(file, { at: indexAt, length: indexLength, checksum: indexChecksum })
  const raw = decompress(compressed, indexRawLength)
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.length)
  const [valueCount, detailsCount] = [bytes.readUInt32LE(0), bytes.readUInt32LE(4)]
  const chunks = (first: number, count: number): FileChunk[] => {
    let start = 0
    return Array.from({ length: count }, (_, index) => {
      const at = indexHeaderBytes + (first + index) * chunkBytes
      const rawLength = bytes.readUInt32LE(at + 12)
      start += rawLength
      return {
        start: start - rawLength,
        rawLength,
        at: bytes.readDoubleLE(at),
        length: bytes.readUInt32LE(at + 8),
        checksum: bytes.readUInt32LE(at + 16),
      }
    })
  }
  const tableAt = indexHeaderBytes + (valueCount + detailsCount) * chunkBytes
  return {
    values: chunks(0, valueCount),
    details: chunks(valueCount, detailsCount),
    table: new EntryTable(raw.subarray(tableAt)),
  }
}

/** Throws if it is damaged. */
export function readVerified(
  file: ReadFile,
  { at, length, checksum }: Pick<FileChunk, 'at' | 'length' | 'checksum'>,
): Uint8Array {
  const bytes = file.read(at, length)
  if (bytes.length !== length || crc32(bytes) !== checksum) throw new Error(`damaged at position ${at}`)
  return bytes
}

export const trailerBytes = 72

const magic = 0x32_73_68_6b
const indexHeaderBytes = 8
/** A multiple of 8, which aligns the table. */
const chunkBytes = 24

/** Many small chunks of quiet times become few, which compress better. */
async function* mergeChunks(
  chunks: readonly CompressedChunk[],
  slices: TimeSlices,
): AsyncGenerator<CompressedChunk, void, undefined> {
  let run: CompressedChunk[] = []
  let runBytes = 0
  for (const chunk of chunks) {
    const isLarge = chunk.rawLength >= frameRawBytes / 2
    if (run.length > 0 && (isLarge || runBytes + chunk.rawLength > frameRawBytes)) {
      yield* mergeRun(run, slices)
      run = []
      runBytes = 0
    }
    if (isLarge) {
      yield chunk
    } else {
      run.push(chunk)
      runBytes += chunk.rawLength
    }
  }
  yield* mergeRun(run, slices)
}

async function* mergeRun(
  run: readonly CompressedChunk[],
  slices: TimeSlices,
): AsyncGenerator<CompressedChunk, void, undefined> {
  const [first] = run
  if (first === undefined || run.length === 1) return yield* run
  const raw: Uint8Array[] = []
  for (const { bytes, rawLength } of run) {
    raw.push(decompress(bytes, rawLength))
    await slices.pause()
  }
  const joined = Buffer.concat(raw)
  yield { start: first.start, rawLength: joined.length, bytes: compress(joined) }
}

async function* detailsChunks({ details }: OpenSegment): AsyncGenerator<CompressedChunk, void, undefined> {
  for (const { start, length, content } of details)
    yield { start, rawLength: length, bytes: compress(content) }
}

interface EncodedIndex extends Omit<SegmentIndex, 'table'> {
  readonly table: Uint8Array
}

function encodeIndex({ values, details, table }: EncodedIndex): Uint8Array {
  const head = Buffer.alloc(indexHeaderBytes + (values.length + details.length) * chunkBytes)
  head.writeUInt32LE(values.length, 0)
  head.writeUInt32LE(details.length, 4)
  for (const [index, chunk] of [...values, ...details].entries()) {
    const at = indexHeaderBytes + index * chunkBytes
    head.writeDoubleLE(chunk.at, at)
    head.writeUInt32LE(chunk.length, at + 8)
    head.writeUInt32LE(chunk.rawLength, at + 12)
    head.writeUInt32LE(chunk.checksum, at + 16)
  }
  return Buffer.concat([head, table])
}

function encodeTrailer(trailer: SegmentTrailer): Uint8Array {
  const bytes = Buffer.alloc(trailerBytes)
  const { base, lastRevision, lastTimeMs, minTimeMs, indexAt } = trailer
  const doubles = [base.revision, base.timeMs, lastRevision, lastTimeMs, minTimeMs, indexAt]
  for (const [index, value] of doubles.entries()) bytes.writeDoubleLE(value, 8 + 8 * index)
  bytes.writeUInt32LE(trailer.indexLength, 56)
  bytes.writeUInt32LE(trailer.indexRawLength, 60)
  bytes.writeUInt32LE(trailer.indexChecksum, 64)
  bytes.writeUInt32LE(magic, 0)
  bytes.writeUInt32LE(crc32(bytes.subarray(8)), 4)
  return bytes
}
