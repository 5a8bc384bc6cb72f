/**
 * Compression of large answers, in the threads that Node keeps for it: the event loop only passes pieces on.
 */
import { pipeline, Readable } from 'node:stream'
import { createGzip } from 'node:zlib'

/** Kubernetes' rule: less is sent as it is. */
export const gzipBytesMin = 128 * 1024

/** Fast rather than small, as Kubernetes has it: most clients are near. */
const level = 1

/** What the threads give back at once. */
const chunkSize = 128 * 1024

export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  return acceptEncoding !== undefined && acceptEncoding.split(',').some(coding => coding.trim() === 'gzip')
}

export function gzipPieces(pieces: readonly Uint8Array[]): AsyncIterable<Uint8Array> {
  // Whoever reads learns of a failure; the callback is there because the last reader may be gone.
  const source = Readable.from(pieces, { objectMode: false })
  return pipeline(source, createGzip({ level, chunkSize }), () => undefined)
}
