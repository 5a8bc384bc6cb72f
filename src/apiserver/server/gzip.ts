/** Gzip compression of large responses in Node's thread pool; the event loop only forwards chunks. */
import { pipeline, Readable } from 'node:stream'
import { createGzip } from 'node:zlib'

/** Kubernetes' threshold; smaller responses are not compressed. */
export const gzipBytesMin = 128 * 1024

/** Optimized for speed, as in Kubernetes. */
const level = 1

/** Size of compressed chunks. */
const chunkSize = 128 * 1024

export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  return acceptEncoding !== undefined && acceptEncoding.split(',').some(coding => coding.trim() === 'gzip')
}

export function gzipPieces(pieces: readonly Uint8Array[]): AsyncIterable<Uint8Array> {
  // The reader receives errors; the callback only prevents an unhandled error if the reader is gone.
  const source = Readable.from(pieces, { objectMode: false })
  return pipeline(source, createGzip({ level, chunkSize }), () => undefined)
}
