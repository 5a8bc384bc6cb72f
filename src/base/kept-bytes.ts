/**
 * Bytes that are kept for long. Node takes small buffers from a pool of 64 kB, made for those that go soon: one that
 * stays keeps everything that was next to it, several times its own size.
 */
export function keptText(text: string): Uint8Array {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text))
  bytes.write(text)
  return bytes
}

/** The pieces one after the other. */
export function keptJoin(pieces: readonly Uint8Array[]): Uint8Array {
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
