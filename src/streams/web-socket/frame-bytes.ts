import { applyMask } from './frame-parser.ts'

/** A complete frame as consecutive pieces. Masked payload is copied. */
export function frameBytes(
  opcode: number,
  pieces: readonly Uint8Array[],
  key: Uint8Array | undefined,
): Uint8Array[] {
  let length = 0
  for (const piece of pieces) length += piece.length
  const head = headBytes(opcode, length, key !== undefined)
  if (key === undefined) return [head, ...pieces.filter(piece => piece.length > 0)]
  const masked = Buffer.concat(pieces)
  applyMask(masked, key)
  return [head, key, masked]
}

function headBytes(opcode: number, length: number, isMasked: boolean): Uint8Array {
  const first = 0x80 | opcode
  const mask = isMasked ? 0x80 : 0
  if (length < 126) return Uint8Array.of(first, mask | length)
  if (length < 65_536) return Uint8Array.of(first, mask | 126, length >> 8, length & 0xff)
  const head = Buffer.alloc(10)
  head[0] = first
  head[1] = mask | 127
  head.writeUInt32BE(Math.floor(length / 2 ** 32), 2)
  head.writeUInt32BE(length % 2 ** 32, 6)
  return head
}
