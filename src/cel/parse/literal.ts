import { int64Max, int64Min } from '#/api/text/int64.ts'
import { Uint } from '../value.ts'

/** A decimal or hexadecimal integer with an optional minus; undefined if it exceeds 64 bits. */
export function parseInt(text: string): bigint | undefined {
  const isNegative = text.startsWith('-')
  const digits = isNegative ? text.slice(1) : text
  if (digits.length > digitsMax) return undefined
  const value = isNegative ? -BigInt(digits) : BigInt(digits)
  return value < int64Min || value > int64Max ? undefined : value
}

/** An unsigned integer with its `u` suffix. */
export function parseUint(text: string): Uint | undefined {
  if (text.length > digitsMax) return undefined
  const value = BigInt(text.slice(0, -1))
  return value > uint64Max ? undefined : new Uint(value)
}

/** The characters of a string literal; undefined if an escape is not a valid code point. */
export function parseString(literal: string): string | undefined {
  const { body, isRaw } = openLiteral(literal)
  if (isRaw || !body.includes('\\')) return body
  let isValid = true
  const text = body.replace(escapes, escape => {
    const code = codeOf(escape)
    if (code === undefined) return shortEscapes.get(escape.charAt(1)) ?? escape.charAt(1)
    isValid &&= code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)
    return isValid ? String.fromCodePoint(code) : ''
  })
  return isValid ? text : undefined
}

/**
 * The bytes of a bytes literal, where `\xff` is a byte, not a character; undefined if an escape is invalid.
 */
export function parseBytes(literal: string): Uint8Array | undefined {
  const { body, isRaw } = openLiteral(literal.slice(1))
  if (isRaw) return Buffer.from(body)
  const parts: Buffer[] = []
  let end = 0
  for (const match of body.matchAll(escapes)) {
    const escape = match[0]
    if (/^\\[uU]/.test(escape)) return undefined
    const code = codeOf(escape)
    const character = shortEscapes.get(escape.charAt(1)) ?? escape.charAt(1)
    parts.push(Buffer.from(body.slice(end, match.index)))
    parts.push(code === undefined ? Buffer.from(character) : Buffer.of(code))
    end = match.index + escape.length
  }
  parts.push(Buffer.from(body.slice(end)))
  return new Uint8Array(Buffer.concat(parts))
}

const uint64Max = 2n ** 64n - 1n
/** Longer numbers could be in range only with leading zeros, and are rejected. */
const digitsMax = 100

const escapes = /\\(?:[xX]..|u.{4}|U.{8}|[0-3]..|[^])/g
const shortEscapes: ReadonlyMap<string, string> = new Map([
  ['a', '\x07'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['v', '\v'],
])

/** The code of a numeric escape; undefined for other escapes. */
function codeOf(escape: string): number | undefined {
  if (/^\\[xXuU]/.test(escape)) return Number.parseInt(escape.slice(2), 16)
  return /^\\[0-3]/.test(escape) ? Number.parseInt(escape.slice(1), 8) : undefined
}

function openLiteral(literal: string): { body: string; isRaw: boolean } {
  const isRaw = /^[rR]/.test(literal)
  const quoted = isRaw ? literal.slice(1) : literal
  const quotes = quoted.startsWith("'''") || quoted.startsWith('"""') ? 3 : 1
  return { body: quoted.slice(quotes, -quotes).replaceAll(/\r\n?/g, '\n'), isRaw }
}
