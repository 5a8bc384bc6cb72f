/**
 * Zstandard on the event loop: a megabyte of similar JSON takes about half a millisecond. The thread pool would take as
 * much of the event loop for the messages, and simulations stay deterministic.
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

const { ZSTD_c_compressionLevel: level, ZSTD_c_windowLog: windowLog, ZSTD_c_hashLog: hashLog } = constants
/** A small hash table stays in the cache of the CPU, and finds as much in text that repeats itself. */
const options = { chunkSize: 64 * 1024, params: { [level]: 1, [windowLog]: 18, [hashLog]: 12 } }

/** Node's lower limit. */
const chunkSizeMin = 64

/** Bounds the memory that a damaged length takes. */
const rawLengthMax = 256 * 1024 * 1024
