import { textOfBytes } from './byte-text.ts'

/**
 * Decodes the escape sequences of a Go literal without its quotes. `quote` is the only quotation mark that may be
 * escaped, and it must be. Returns undefined if the text is invalid.
 */
export function unquote(text: string, quote: string): string | undefined {
  if (!text.includes('\\') && !text.includes(quote)) return text
  const pieces: Uint8Array[] = []
  for (let at = 0; at < text.length;) {
    const character = unquoteCharacter(text.slice(at, at + sequenceLengthMax), quote)
    if (character === undefined) return undefined
    const { code, isByte, length } = character
    pieces.push(isByte ? Uint8Array.of(code) : Buffer.from(String.fromCodePoint(code)))
    at += length
  }
  return textOfBytes(Buffer.concat(pieces))
}

/** `\U0001f600`. */
const sequenceLengthMax = 10

interface Character {
  readonly code: number
  /** Part of a character, written as `\xff` or `\377`. */
  readonly isByte: boolean
  /** Length of the text that represents it. */
  readonly length: number
}

/** The first character of a literal; undefined if it is invalid. */
export function unquoteCharacter(text: string, quote: string): Character | undefined {
  const code = text.codePointAt(0)
  if (code === undefined || text.startsWith(quote)) return undefined
  if (!text.startsWith('\\')) return { code, isByte: false, length: code > 0xff_ff ? 2 : 1 }
  const match = escape.exec(text)
  if (match === null) return undefined
  const [{ length }, byte, short, long, octal, letter = ''] = match
  if (byte !== undefined) return { code: Number.parseInt(byte, 16), isByte: true, length }
  if (octal !== undefined) {
    const value = Number.parseInt(octal, 8)
    return value > 0xff ? undefined : { code: value, isByte: true, length }
  }
  const digits = short ?? long
  if (digits !== undefined) {
    const value = Number.parseInt(digits, 16)
    const isInvalid = value > 0x10_ff_ff || (value >= 0xd8_00 && value < 0xe0_00)
    return isInvalid ? undefined : { code: value, isByte: false, length }
  }
  if ((letter === '"' || letter === "'") && letter !== quote) return undefined
  return { code: shortEscapes[letter] ?? letter.charCodeAt(0), isByte: false, length }
}

const shortEscapes: Readonly<Record<string, number>> = { a: 7, b: 8, f: 12, n: 10, r: 13, t: 9, v: 11 }

const escape = /^\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|([abfnrtv\\'"]))/
