/**
 * JSON parsing and serialization without loss of digits: an integer that fits into 64 bits but not exactly
 * into a double is a `bigint`. The native parser does the work; one traversal of its result decides whether a
 * second pass is needed, so ordinary input costs little more than `JSON.parse`. Invalid UTF-8 and lone
 * surrogates become U+FFFD, as in Kubernetes. Duplicate keys are not detected, the last one wins; see
 * `find-duplicate-keys.ts`.
 */
import { DecodeError } from '../decoding/decode-error.ts'
import { parseInt64 } from './int64.ts'
import { endOfNumber, endOfString, measureJson } from './json-scan.ts'
import { describeJsonSyntaxError } from './json-syntax-error.ts'
import type { JsonValue } from './json-value.ts'

export interface ParseOptions {
  /** Larger input is rejected before parsing. The default is the maximum string length. */
  readonly maxBytes?: number
}

/**
 * Maximum nesting of lists and maps. Code that runs after parsing may recurse, since the depth is bounded.
 */
export const depthMax = 1_000

/**
 * Throws DecodeError if the input is not JSON, too large, too deep, or contains a number that overflows a
 * double.
 */
export function parseJson(input: Uint8Array | string, options: ParseOptions = {}): JsonValue {
  const text = replaceLoneSurrogates(readText(input, options.maxBytes))
  if (text.length > unmeasuredCharactersMax) {
    const bytes = typeof input === 'string' ? Buffer.from(text) : input
    if (measureJson(bytes).depth > depthMax) throw tooDeep(depthMax)
  }
  const value = parseNatively(text)
  return isExact(value, 0) ? value : restoreIntegers(parseNatively(markIntegers(text)))
}

/** Compact JSON; a `bigint` is printed as a plain integer. */
export function stringifyJson(value: JsonValue): string {
  try {
    return JSON.stringify(value)
  } catch (error) {
    // JSON.stringify throws TypeError on a bigint. Checking in advance would cost a traversal of every object
    // written.
    if (!(error instanceof TypeError)) throw error
    return JSON.stringify(value, printInteger)
  }
}

function printInteger(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? JSON.rawJSON(`${value}`) : value
}

/** The input as text, with every invalid byte sequence replaced by U+FFFD. */
export function readText(input: Uint8Array | string, maxBytes = textBytesMax): string {
  const sizeBytes = typeof input === 'string' ? Buffer.byteLength(input) : input.length
  if (sizeBytes > maxBytes) throw new DecodeError('too-large', `limit is ${maxBytes}`)
  if (typeof input === 'string') return input.toWellFormed()
  return Buffer.from(input.buffer, input.byteOffset, input.byteLength).toString('utf8')
}

/** The number as `parseJson` would return it: a 64-bit integer beyond 2^53 becomes a bigint. */
export function toExactNumber(value: number): number | bigint {
  if (Number.isSafeInteger(value) || !Number.isInteger(value)) return value
  return value >= -(2 ** 63) && value < 2 ** 63 ? BigInt(value) : value
}

export function tooDeep(levelsMax: number): DecodeError {
  return new DecodeError('too-deep', `exceeded max depth of ${levelsMax}`)
}

declare global {
  // Implemented by the engine but missing in TypeScript's library types.
  interface JSON {
    rawJSON(text: string): object
  }
}

/** Number of bytes that always fit into one string. */
const textBytesMax = 500_000_000

/**
 * Longer text is checked for depth before it is parsed: the native parser does not recurse, but a million
 * levels take it half a second. Shorter text cannot be deep enough to matter; the traversal after parsing
 * rejects it if necessary.
 */
const unmeasuredCharactersMax = 65_536

/** An escape sequence; a surrogate pair matches as one, and the group captures a lone surrogate. */
const escape = /\\(?:ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|(ud[89a-f][0-9a-f]{2})|[^])/gi

function replaceLoneSurrogates(text: string): string {
  if (!text.includes('\\u') || !/\\ud[89a-f]/i.test(text)) return text
  return text.replace(escape, (whole, lone: string | undefined) => (lone === undefined ? whole : '\\ufffd'))
}

function parseNatively(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue
  } catch (error) {
    throw new DecodeError('syntax', describeJsonSyntaxError(text), { cause: error })
  }
}

/**
 * True if no number lost digits in the conversion to a double. Throws if the value is too deep or a number is
 * not finite.
 */
function isExact(value: JsonValue, depth: number): boolean {
  if (typeof value === 'number') return Number.isSafeInteger(value) || isFraction(value)
  if (typeof value !== 'object' || value === null) return true
  if (depth === depthMax) throw tooDeep(depthMax)
  let exact = true
  if (Array.isArray(value)) {
    for (const each of value) if (!isExact(each, depth + 1)) exact = false
    return exact
  }
  for (const key in value) {
    const each = value[key] as JsonValue
    // Most members are strings: a call for each of them would double the time of the traversal.
    if (typeof each !== 'string' && !isExact(each, depth + 1)) exact = false
  }
  return exact
}

function isFraction(value: number): boolean {
  if (Number.isFinite(value)) return !Number.isInteger(value)
  throw new DecodeError('syntax', 'json: cannot unmarshal number into Go value of type float64')
}

/**
 * First character of a string that contains the digits of a number. It is illegal in JSON text unescaped, and
 * rare escaped.
 */
const mark = '\u0001'
const escapedMark = '\\u0001'

/** Number of characters, including the sign, that a double always represents exactly. */
const exactDigits = 15

/**
 * Encodes long integers as marked strings, so that the native parser keeps their digits, and adds a second
 * mark to strings that already start with it. A reviver with source access takes thirty times as long as the
 * parser.
 */
function markIntegers(text: string): string {
  const pieces: string[] = []
  let copied = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 0x22) {
      const end = endOfString(text, at)
      if (text.startsWith(escapedMark, at + 1) && !isKey(text, end)) {
        pieces.push(text.slice(copied, at + 1), escapedMark)
        copied = at + 1
      }
      at = end - 1
    } else if (code === 0x2d || (code >= 0x30 && code <= 0x39)) {
      const end = endOfNumber(text, at)
      if (end - at > exactDigits && parseInt64(text.slice(at, end)) !== undefined) {
        pieces.push(text.slice(copied, at), '"', escapedMark, text.slice(at, end), '"')
        copied = end
      }
      at = end - 1
    }
  }
  return pieces.join('') + text.slice(copied)
}

function isKey(text: string, endOfString: number): boolean {
  let at = endOfString
  while (' \t\r\n'.includes(text.charAt(at)) && at < text.length) at++
  return text.charAt(at) === ':'
}

/** Decodes marked strings in place: the value comes from the parser and is not shared yet. */
function restoreIntegers(value: JsonValue): JsonValue {
  if (typeof value === 'number') return toExactNumber(value)
  if (typeof value === 'string') return value.startsWith(mark) ? restoreMarked(value.slice(1)) : value
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    for (const [index, each] of value.entries()) value[index] = restoreIntegers(each)
    return value
  }
  // Every key is already an own property, so that even assigning to __proto__ is safe.
  for (const key in value) value[key] = restoreIntegers(value[key] as JsonValue)
  return value
}

function restoreMarked(rest: string): JsonValue {
  return rest.startsWith(mark) ? rest : (parseInt64(rest) ?? rest)
}
