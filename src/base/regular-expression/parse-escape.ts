/** Escapes of a single character: `\n`, `\.`, `\x{1F600}`, `\012`. */
import { codePointMax } from './character-class.ts'
import { syntaxError } from './error.ts'

export interface Escaped {
  readonly codePoint: number
  /** Position after the escape in the pattern. */
  readonly end: number
}

/** The pattern has a backslash at `start`. */
export function parseEscape(pattern: string, start: number): Escaped {
  const codePoint = pattern.codePointAt(start + 1)
  if (codePoint === undefined) throw syntaxError('trailing backslash at end of expression', '')
  const letter = String.fromCodePoint(codePoint)
  const end = start + 1 + letter.length
  const control = controls.get(letter)
  if (control !== undefined) return { codePoint: control, end }
  if (/[!-/:-@[-`{-~\0- \x7f]/.test(letter)) return { codePoint, end }
  if (letter === 'x') return parseHexadecimal(pattern, start)
  // A single digit other than zero would be a backreference, which is not supported.
  octal.lastIndex = start + 1
  const digits = octal.exec(pattern)?.[0]
  if (digits === undefined) throw syntaxError('invalid escape sequence', pattern.slice(start, end))
  return { codePoint: Number.parseInt(digits, 8), end: start + 1 + digits.length }
}

const controls: ReadonlyMap<string, number> = new Map([
  ['a', 0x07],
  ['f', 0x0c],
  ['n', 0x0a],
  ['r', 0x0d],
  ['t', 0x09],
  ['v', 0x0b],
])

const octal = /0[0-7]{0,2}|[1-7][0-7]{1,2}/y
const twoDigits = /[0-9a-fA-F]{2}/y

function parseHexadecimal(pattern: string, start: number): Escaped {
  const from = start + 2
  if (pattern[from] === '{') return parseBraced(pattern, start)
  twoDigits.lastIndex = from
  const digits = twoDigits.exec(pattern)?.[0]
  if (digits !== undefined) return { codePoint: Number.parseInt(digits, 16), end: from + 2 }
  // The error quotes the escape up to and including its second character.
  const [first = '', second = ''] = pattern.slice(from, from + 4)
  throw syntaxError('invalid escape sequence', `${pattern.slice(start, from)}${first}${second}`)
}

function parseBraced(pattern: string, start: number): Escaped {
  let codePoint = 0
  for (let at = start + 3; at < pattern.length; at++) {
    const letter = String.fromCodePoint(pattern.codePointAt(at) ?? 0)
    if (letter === '}' && at > start + 3) return { codePoint, end: at + 1 }
    codePoint = /[0-9a-fA-F]/.test(letter) ? codePoint * 16 + Number.parseInt(letter, 16) : Infinity
    if (codePoint > codePointMax) {
      throw syntaxError('invalid escape sequence', pattern.slice(start, at + letter.length))
    }
  }
  throw syntaxError('invalid escape sequence', pattern.slice(start))
}
