/** Character classes: `[a-z[:digit:]]`, `\d`, `\p{Greek}`. */
import { foldCase, negate, rangesOf, type Ranges } from './character-class.ts'
import { syntaxError } from './error.ts'
import { parseEscape, type Escaped } from './parse-escape.ts'
import { unicodeClass } from './unicode-class.ts'

export interface ParsedClass {
  readonly ranges: Ranges
  /** Position after the class in the pattern. */
  readonly end: number
}

export interface ClassOptions {
  readonly foldsCase: boolean
  /** Position of the last `:]` in the pattern, -1 if there is none: no class begins after it. */
  readonly lastPosixClose: number
}

/** The pattern has an opening bracket at `start`. */
export function parseBracketed(pattern: string, start: number, options: ClassOptions): ParsedClass {
  const { foldsCase } = options
  const isNegated = pattern[start + 1] === '^'
  const first = start + (isNegated ? 2 : 1)
  const pairs: number[] = []
  let at = first
  // A closing bracket in first position is literal.
  while (at === first || pattern[at] !== ']') {
    const named = parsePosix(pattern, at, options) ?? parseNamedClass(pattern, at, foldsCase)
    if (named !== undefined) {
      for (const each of named.ranges) pairs.push(each)
      at = named.end
      continue
    }
    const { low, high, end } = parseRange(pattern, start, at)
    if (foldsCase) pairs.push(...foldCase([low, high]))
    else pairs.push(low, high)
    at = end
  }
  const ranges = rangesOf(pairs)
  return { ranges: isNegated ? negate(ranges) : ranges, end: at + 1 }
}

/** `\d` or `\p{L}`; undefined if there is neither at `start`. */
export function parseNamedClass(pattern: string, start: number, foldsCase: boolean): ParsedClass | undefined {
  if (pattern[start] !== '\\') return undefined
  const letter = pattern[start + 1] ?? ''
  if (letter === 'p' || letter === 'P') return parseUnicode(pattern, start, foldsCase)
  const ranges = perlClasses.get(letter.toLowerCase())
  if (ranges === undefined) return undefined
  return { ranges: finished(ranges, { foldsCase, isNegated: /[DSW]/.test(letter) }), end: start + 2 }
}

const digits = [0x30, 0x39]
const letters = [0x41, 0x5a, 0x61, 0x7a]
const wordCharacters: Ranges = [...digits, 0x41, 0x5a, 0x5f, 0x5f, 0x61, 0x7a]

const perlClasses: ReadonlyMap<string, Ranges> = new Map([
  ['d', digits],
  ['s', [0x09, 0x0a, 0x0c, 0x0d, 0x20, 0x20]],
  ['w', wordCharacters],
])

const posixClasses: ReadonlyMap<string, Ranges> = new Map([
  ['alnum', [...digits, ...letters]],
  ['alpha', letters],
  ['ascii', [0x00, 0x7f]],
  ['blank', [0x09, 0x09, 0x20, 0x20]],
  ['cntrl', [0x00, 0x1f, 0x7f, 0x7f]],
  ['digit', digits],
  ['graph', [0x21, 0x7e]],
  ['lower', [0x61, 0x7a]],
  ['print', [0x20, 0x7e]],
  ['punct', [0x21, 0x2f, 0x3a, 0x40, 0x5b, 0x60, 0x7b, 0x7e]],
  ['space', [0x09, 0x0d, 0x20, 0x20]],
  ['upper', [0x41, 0x5a]],
  ['word', wordCharacters],
  ['xdigit', [...digits, 0x41, 0x46, 0x61, 0x66]],
])

function finished(ranges: Ranges, options: { foldsCase: boolean; isNegated: boolean }): Ranges {
  const folded = options.foldsCase ? foldCase(ranges) : ranges
  return options.isNegated ? negate(folded) : folded
}

/** `[:alpha:]`, `[:^alpha:]`; undefined if there is none, which is not an error. */
function parsePosix(
  pattern: string,
  start: number,
  { foldsCase, lastPosixClose }: ClassOptions,
): ParsedClass | undefined {
  if (!pattern.startsWith('[:', start) || start + 2 > lastPosixClose) return undefined
  const close = pattern.indexOf(':]', start + 2)
  const isNegated = pattern[start + 2] === '^'
  const ranges = posixClasses.get(pattern.slice(start + (isNegated ? 3 : 2), close))
  if (ranges === undefined) {
    throw syntaxError('invalid character class range', pattern.slice(start, close + 2))
  }
  return { ranges: finished(ranges, { foldsCase, isNegated }), end: close + 2 }
}

function parseUnicode(pattern: string, start: number, foldsCase: boolean): ParsedClass {
  const isBraced = pattern[start + 2] === '{'
  const close = isBraced ? pattern.indexOf('}', start) : -1
  const letter = String.fromCodePoint(...[pattern.codePointAt(start + 2) ?? []].flat())
  const end = isBraced ? (close === -1 ? pattern.length : close + 1) : start + 2 + letter.length
  const name = isBraced ? pattern.slice(start + 3, close) : letter
  const isInverted = name.startsWith('^')
  const ranges = isBraced && close === -1 ? undefined : unicodeClass(isInverted ? name.slice(1) : name)
  if (ranges === undefined) throw syntaxError('invalid character class range', pattern.slice(start, end))
  const isNegated = (pattern[start + 1] === 'P') !== isInverted
  return { ranges: finished(ranges, { foldsCase, isNegated }), end }
}

/** A single character or a range. */
function parseRange(
  pattern: string,
  open: number,
  start: number,
): { low: number; high: number; end: number } {
  const { codePoint: low, end } = parseMember(pattern, open, start)
  // A hyphen at the end of a class is literal.
  if (pattern[end] !== '-' || end + 1 >= pattern.length || pattern[end + 1] === ']')
    return { low, high: low, end }
  const last = parseMember(pattern, open, end + 1)
  if (last.codePoint < low) throw syntaxError('invalid character class range', pattern.slice(start, last.end))
  return { low, high: last.codePoint, end: last.end }
}

function parseMember(pattern: string, open: number, start: number): Escaped {
  const codePoint = pattern.codePointAt(start)
  if (codePoint === undefined) throw syntaxError('missing closing ]', pattern.slice(open))
  if (pattern[start] === '\\') return parseEscape(pattern, start)
  return { codePoint, end: start + (codePoint > 0xffff ? 2 : 1) }
}
