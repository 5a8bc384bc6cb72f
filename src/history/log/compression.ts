/**
 * Zstandard on the event loop: a block of similar JSON takes a tenth of a millisecond, about as long as
 * handing it to the thread pool, and simulations stay deterministic.
 */
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'

export function compress(bytes: Uint8Array): Uint8Array {
  return zstdCompressSync(bytes, options)
}

/** Throws unless the result has this length. */
export function decompress(bytes: Uint8Array, rawLength: number): Uint8Array {
  if (rawLength === 0) return new Uint8Array()
  if (rawLength > rawLengthMax) throw new Error(`a block of ${rawLength} bytes is too large`)
  const raw = zstdDecompressSync(bytes, {
    chunkSize: Math.max(rawLength, chunkSizeMin),
    maxOutputLength: rawLength,
  })
  if (raw.length !== rawLength) throw new Error(`a block has ${raw.length} bytes instead of ${rawLength}`)
  return raw
}

const options = { chunkSize: 64 * 1024, params: { [constants.ZSTD_c_compressionLevel]: 1 } }

/** Node's lower limit. */
const chunkSizeMin = 64

/** Bounds the memory that a damaged length takes. */
const rawLengthMax = 256 * 1024 * 1024
