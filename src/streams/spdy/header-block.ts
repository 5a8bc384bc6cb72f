/** Uncompressed name/value header blocks. */
import { SpdyError } from './spdy-error.ts'

/** Names are lowercase. */
export type SpdyHeaders = Readonly<Record<string, string>>

export function headerBlock(headers: SpdyHeaders): Uint8Array {
  const entries = Object.entries(headers)
  return Buffer.concat([
    counted(entries.length),
    ...entries.flatMap(pair => pair.map(text => withLength(Buffer.from(text, 'latin1')))),
  ])
}

/** Throws SpdyError if the block is truncated. For repeated values, the first counts. */
export function readHeaderBlock(block: Uint8Array): SpdyHeaders {
  const bytes = Buffer.from(block.buffer, block.byteOffset, block.length)
  const headers: Record<string, string> = Object.create(null)
  let at = 0
  const number = (): number => {
    if (at + 4 > bytes.length) throw new SpdyError('truncated header block')
    at += 4
    return bytes.readUInt32BE(at - 4)
  }
  const text = (): string => {
    const length = number()
    if (length > bytes.length - at) throw new SpdyError('truncated header block')
    at += length
    return bytes.toString('latin1', at - length, at)
  }
  for (let count = number(); count > 0; count--) {
    const name = text().toLowerCase()
    const [value = ''] = text().split('\0')
    headers[name] ??= value
  }
  return headers
}

function withLength(bytes: Uint8Array): Uint8Array {
  return Buffer.concat([counted(bytes.length), bytes])
}

function counted(count: number): Uint8Array {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(count)
  return bytes
}
