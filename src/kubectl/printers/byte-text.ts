/**
 * Text that may contain bytes that are not UTF-8, such as a decoded Secret: each such byte is a lone surrogate from
 * U+DC80 to U+DCFF, which valid text never contains.
 */
export function textOfBytes(bytes: Uint8Array): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
  if (!text.includes('\ufffd')) return text
  let decoded = ''
  for (let at = 0; at < bytes.length;) {
    const character = characterAt(bytes, at)
    if (character === undefined) decoded += String.fromCharCode(0xdc_00 + (bytes[at] ?? 0))
    else decoded += character
    at += character === undefined ? 1 : Buffer.byteLength(character)
  }
  return decoded
}

export function bytesOfText(text: string): Uint8Array {
  if (text.isWellFormed()) return Buffer.from(text)
  const pieces = Array.from(text, character => {
    const code = character.charCodeAt(0)
    const isByte = character.length === 1 && code >= 0xdc_80 && code <= 0xdc_ff
    return isByte ? Uint8Array.of(code - 0xdc_00) : Buffer.from(character)
  })
  return Buffer.concat(pieces)
}

/** Undefined if no valid character begins here. */
function characterAt(bytes: Uint8Array, at: number): string | undefined {
  const first = bytes[at] ?? 0
  const length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4
  const text = Buffer.from(bytes.subarray(at, at + length)).toString()
  const isValid =
    Buffer.byteLength(text) === length && Buffer.from(text).equals(bytes.subarray(at, at + length))
  return isValid ? text : undefined
}
