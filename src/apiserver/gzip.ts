/**
 * Compression of large bodies in Node's thread pool; the event loop only forwards blocks. Parts of a body that are
 * shared by many responses are compressed once: deflated parts that end at a byte boundary can be joined, and their
 * checksums combined (RFC 1951 and 1952).
 */
import { constants, crc32, createDeflateRaw, createGzip, type DeflateRaw, type Gzip } from 'node:zlib'
import { copyPiece } from './piece-batch.ts'
import type { PieceBatch } from './request.ts'

export type Batches = Iterable<PieceBatch> | AsyncIterable<PieceBatch>

/** Optimized for speed, as in Kubernetes. */
const level = 1

/** Size of compressed chunks. */
const chunkBytes = 128 * 1024

/** Size of the blocks that are compressed at once. */
const blockBytes = 128 * 1024

export async function* gzipBatches(batches: Batches): AsyncGenerator<PieceBatch, void, undefined> {
  const compressed = compress(createGzip({ level, chunkSize: chunkBytes }), blocksOf(batches))
  for await (const bytes of compressed) yield { pieces: [bytes], sizeBytes: bytes.length }
}

/** A deflated part of a body. */
export interface DeflatedPart {
  readonly pieces: readonly Uint8Array[]
  /** Of the uncompressed bytes. */
  readonly sizeBytes: number
  readonly checksum: number
}

export async function deflatePart(batches: Batches): Promise<DeflatedPart> {
  let sizeBytes = 0
  let checksum = 0
  async function* summed(): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const block of blocksOf(batches)) {
      sizeBytes += block.length
      checksum = crc32(block, checksum)
      yield block
    }
  }
  const flush = { level, chunkSize: chunkBytes, finishFlush: constants.Z_SYNC_FLUSH }
  const pieces = await Array.fromAsync(compress(createDeflateRaw(flush), summed()))
  return { pieces, sizeBytes, checksum }
}

/** Joins the parts to one gzip member. */
export function gzipParts(parts: readonly DeflatedPart[]): readonly Uint8Array[] {
  let sizeBytes = 0
  let checksum = 0
  for (const part of parts) {
    checksum = combineChecksums(checksum, part)
    sizeBytes += part.sizeBytes
  }
  const trailer = Buffer.alloc(lastBlock.length + 8)
  trailer.set(lastBlock)
  trailer.writeUInt32LE(checksum, lastBlock.length)
  trailer.writeUInt32LE(sizeBytes % 2 ** 32, lastBlock.length + 4)
  return [memberHeader, ...parts.flatMap(({ pieces }) => pieces), trailer]
}

/** No name and no time; fastest compression, unknown operating system. */
const memberHeader = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255)

/** An empty block with the mark of the last one. */
const lastBlock = Uint8Array.of(3, 0)

/** CRC-32 of bytes with the first checksum that are followed by the part. */
function combineChecksums(first: number, { checksum, sizeBytes }: DeflatedPart): number {
  return (multiplyModulo(powerOfX(8 * sizeBytes), first) ^ checksum) >>> 0
}

/** The generator polynomial; the highest bit of a number is the coefficient of x^0. */
const polynomial = 0xedb88320
const one = 0x8000_0000
const x = 0x4000_0000

/** x^exponent modulo the polynomial. */
function powerOfX(exponent: number): number {
  let power = one
  let square = x
  for (let rest = exponent; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) power = multiplyModulo(power, square)
    square = multiplyModulo(square, square)
  }
  return power
}

/** The product of two polynomials over GF(2), modulo the polynomial. */
function multiplyModulo(left: number, right: number): number {
  let product = 0
  let shifted = right
  for (let bit = 31; bit >= 0; bit--) {
    if ((left >>> bit) & 1) product ^= shifted
    shifted = shifted & 1 ? (shifted >>> 1) ^ polynomial : shifted >>> 1
  }
  return product >>> 0
}

function compress(to: Gzip | DeflateRaw, blocks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  // The reader receives errors; the listener only prevents an unhandled error if the reader is gone.
  to.on('error', () => undefined)
  void writeBlocks(to, blocks)
  return to as AsyncIterable<Uint8Array>
}

/** Never rejects. */
async function writeBlocks(to: Gzip | DeflateRaw, blocks: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    for await (const block of blocks) {
      // The callback is called when the block has been read, so that its memory can be used again.
      const error = await new Promise(resolve => to.write(block, resolve))
      if (error) return
    }
    to.end()
  } catch (error) {
    to.destroy(error as Error)
  }
}

/**
 * Joins small pieces: every block is a job of the thread pool, which costs more than the compression of a small one. A
 * block must be used before the next one is taken.
 */
async function* blocksOf(batches: Batches): AsyncGenerator<Uint8Array, void, undefined> {
  const buffer = Buffer.allocUnsafeSlow(blockBytes)
  let length = 0
  for await (const { pieces } of batches) {
    for (const piece of pieces) {
      if (length > 0 && length + piece.length > buffer.length) {
        yield buffer.subarray(0, length)
        length = 0
      }
      if (typeof piece !== 'string' && piece.length >= buffer.length) yield piece
      else length += copyPiece(piece, buffer, length)
    }
  }
  if (length > 0) yield buffer.subarray(0, length)
}
