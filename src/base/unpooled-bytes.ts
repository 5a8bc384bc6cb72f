/**
 * Allocates bytes that live long outside Node's buffer pool. A small pooled buffer that is retained keeps its
 * whole 64 kB slab alive.
 */
export function unpooledBytes(text: string): Uint8Array {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text))
  bytes.write(text)
  return bytes
}

/** Concatenates the pieces. */
export function unpooledConcat(pieces: readonly Uint8Array[]): Uint8Array {
  let sizeBytes = 0
  for (const piece of pieces) sizeBytes += piece.length
  const bytes = Buffer.allocUnsafeSlow(sizeBytes)
  let at = 0
  for (const piece of pieces) {
    bytes.set(piece, at)
    at += piece.length
  }
  return bytes
}
