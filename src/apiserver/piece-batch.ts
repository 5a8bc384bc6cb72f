/** Copies the pieces of encoded values to buffers. */
import type { Piece, PieceBatch } from './request.ts'

export function batchOf(bytes: Uint8Array): PieceBatch {
  return { pieces: [bytes], sizeBytes: bytes.length }
}

export function joinBatch(batch: PieceBatch): Uint8Array {
  const bytes = Buffer.allocUnsafeSlow(batch.sizeBytes)
  copyBatch(batch, bytes)
  return bytes
}

/** Copies the pieces, one after the other, to the start of the buffer. */
export function copyBatch({ pieces }: PieceBatch, buffer: Buffer): void {
  let at = 0
  for (const piece of pieces) at += copyPiece(piece, buffer, at)
}

/** Returns the size of the piece. */
export function copyPiece(piece: Piece, buffer: Buffer, at: number): number {
  if (typeof piece === 'string') buffer.write(piece, at, 'latin1')
  else buffer.set(piece, at)
  return piece.length
}
