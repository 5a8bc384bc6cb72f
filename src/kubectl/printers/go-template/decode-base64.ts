import { bytesOfText, textOfBytes } from '../byte-text.ts'

/** Decodes standard Base64 with padding. Line breaks are ignored. Throws an error with Go's message. */
export function decodeBase64(text: string): string {
  const bytes = bytesOfText(text)
  /** Characters that count in the current group of four. */
  let digits = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    if (byte === newline || byte === carriageReturn) continue
    if (byte === padding) {
      checkPadding(bytes, at, digits)
      digits = 0
      break
    }
    if (!/[A-Za-z0-9+/]/.test(String.fromCharCode(byte))) throw corrupt(at)
    digits = (digits + 1) % 4
  }
  if (digits > 0) throw corrupt(bytes.length - digits)
  return textOfBytes(Buffer.from(text, 'base64'))
}

const newline = 0x0a
const carriageReturn = 0x0d
const padding = 0x3d

/** The padding begins at `at` and must end the text. */
function checkPadding(bytes: Uint8Array, at: number, digits: number): void {
  if (digits < 2) throw corrupt(at)
  let next = skipLineBreaks(bytes, at + 1)
  if (digits === 2) {
    if (next === bytes.length) throw corrupt(bytes.length)
    if (bytes[next] !== padding) throw corrupt(next - 1)
    next = skipLineBreaks(bytes, next + 1)
  }
  if (next < bytes.length) throw corrupt(next)
}

function skipLineBreaks(bytes: Uint8Array, start: number): number {
  let at = start
  while (bytes[at] === newline || bytes[at] === carriageReturn) at++
  return at
}

function corrupt(at: number): Error {
  return new Error(`base64 decode failed: illegal base64 data at input byte ${at}`)
}
