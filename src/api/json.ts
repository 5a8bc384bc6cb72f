/**
 * JSON text to values and back, without losing a digit: a whole number that a double cannot hold exactly but
 * 64 bits can is a `bigint`. The work is done by the engine's own parser; one walk over its result decides
 * whether anything needs a second look, so that ordinary input costs little more than `JSON.parse`. Invalid
 * UTF-8 and lone surrogates become U+FFFD, as in Kubernetes. Duplicate keys are not noticed here, the last
 * one wins; see `find-duplicate-keys.ts`.
 */
import { DecodeError } from './decode-error.ts'
import { parseInt64 } from './int64.ts'
import { endOfNumber, endOfString, measureJson } from './json-scan.ts'
import { describeJsonSyntaxError } from './json-syntax-error.ts'
import type { JsonValue } from './json-value.ts'

export interface ParseOptions {
  /** Larger input is refused unread. Without it the bound is what one string can hold. */
  readonly maxBytes?: number
}

/**
 * Levels of lists and maps in each other. Whatever comes after parsing may recurse, since nothing is deeper
 * than this.
 */
export const depthMax = 1_000

/**
 * Throws DecodeError when the input is not JSON, too large, too deep, or holds a number that overflows a
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

/** Compact JSON; a `bigint` is printed as a plain whole number. */
export function stringifyJson(value: JsonValue): string {
  try {
    return JSON.stringify(value)
  } catch (error) {
    // The engine refuses a bigint with a TypeError. Asking beforehand would cost a walk over every object
    // written.
    if (!(error instanceof TypeError)) throw error
    return JSON.stringify(value, printInteger)
  }
}

function printInteger(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? JSON.rawJSON(`${value}`) : value
}

/** The input as text, every invalid byte sequence replaced by U+FFFD. */
export function readText(input: Uint8Array | string, maxBytes = textBytesMax): string {
  const sizeBytes = typeof input === 'string' ? Buffer.byteLength(input) : input.length
  if (sizeBytes > maxBytes) throw new DecodeError('too-large', `limit is ${maxBytes}`)
  if (typeof input === 'string') return input.toWellFormed()
  return Buffer.from(input.buffer, input.byteOffset, input.byteLength).toString('utf8')
}

/**
 * A number in the form in which its digits would be read: past 2^53 a whole number of 64 bits is a bigint.
 */
export function toExactNumber(value: number): number | bigint {
  if (Number.isSafeInteger(value) || !Number.isInteger(value)) return value
  return value >= -(2 ** 63) && value < 2 ** 63 ? BigInt(value) : value
}

export function tooDeep(levelsMax: number): DecodeError {
  return new DecodeError('too-deep', `exceeded max depth of ${levelsMax}`)
}

declare global {
  // In the engine, and not yet in the compiler's library.
  interface JSON {
    rawJSON(text: string): object
  }
}

/** Bytes that certainly fit into one string of the engine. */
const textBytesMax = 500_000_000

/**
 * Longer text is measured before it is parsed: the engine does not recurse, but a million levels cost it half
 * a second. Shorter text cannot be deep enough to matter, and the walk afterwards still finds what is too
 * deep.
 */
const unmeasuredCharactersMax = 65_536

/** An escape, the two halves of a surrogate pair as one; the group is a half on its own. */
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
 * Whether no number has lost digits on its way into a double. Throws when the value is too deep or not
 * finite.
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
    // Most members are strings: a call for each of them would double the time of the walk.
    if (typeof each !== 'string' && !isExact(each, depth + 1)) exact = false
  }
  return exact
}

function isFraction(value: number): boolean {
  if (Number.isFinite(value)) return !Number.isInteger(value)
  throw new DecodeError('syntax', 'json: cannot unmarshal number into Go value of type float64')
}

/**
 * Starts a string that holds a number's digits. As it is, it is not allowed in JSON text; escaped it is rare.
 */
const mark = '\u0001'
const escapedMark = '\\u0001'

/** Digits, the sign counted, that a double always holds. */
const exactDigits = 15

/**
 * Puts long whole numbers into marked strings, so that the engine's parser keeps their digits, and marks
 * strings that start with the mark once more. A reviver that reads the source would do as well, but takes
 * thirty times as long as the parser.
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

/** Undoes the marks, in place: the value is fresh from the parser and nobody else has it. */
function restoreIntegers(value: JsonValue): JsonValue {
  if (typeof value === 'number') return toExactNumber(value)
  if (typeof value === 'string') return value.startsWith(mark) ? restoreMarked(value.slice(1)) : value
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    for (const [index, each] of value.entries()) value[index] = restoreIntegers(each)
    return value
  }
  // Every key is an own property already, so that even an assignment to __proto__ is an ordinary one.
  for (const key in value) value[key] = restoreIntegers(value[key] as JsonValue)
  return value
}

function restoreMarked(rest: string): JsonValue {
  return rest.startsWith(mark) ? rest : (parseInt64(rest) ?? rest)
}
