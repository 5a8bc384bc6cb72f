/** Zstandard. Simulations are deterministic with `compressNow`. */
import { promisify } from 'node:util'
import { constants, zstdCompress, zstdCompressSync, zstdDecompressSync } from 'node:zlib'

export type Compress = (bytes: Uint8Array) => Promise<Uint8Array>

/** On the event loop: about a third of a millisecond for a megabyte of similar JSON. */
export async function compressNow(bytes: Uint8Array): Promise<Uint8Array> {
  return zstdCompressSync(bytes, options)
}

/** In the thread pool, unless handing them over takes longer than compressing them. */
export async function compressInThreadPool(bytes: Uint8Array): Promise<Uint8Array> {
  return bytes.length < pooledBytesMin ? zstdCompressSync(bytes, options) : compressLater(bytes, options)
}

const compressLater = promisify(zstdCompress)

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

const pooledBytesMin = 64 * 1024

/** Node's lower limit. */
const chunkSizeMin = 64

/** Bounds the memory that a damaged length takes. */
const rawLengthMax = 256 * 1024 * 1024
