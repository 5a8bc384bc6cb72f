/**
 * Checks that a regular expression has Go's syntax (RE2): no lookaround, no backreferences. The pattern is
 * parsed but never executed. https://pkg.go.dev/regexp/syntax
 */

/** The error message of Go for an invalid pattern; undefined if it is valid. */
export function checkGoPattern(pattern: string): string | undefined {
  const problem = read(pattern)
  return problem === undefined ? undefined : `error parsing regexp: ${problem}`
}

function read(pattern: string): string | undefined {
  let depth = 0
  /** True if the preceding element can be repeated. */
  let isRepeatable = false
  for (let at = 0; at < pattern.length;) {
    const character = pattern.charAt(at)
    let length = 1
    if (character === '(') {
      const opened = readGroup(pattern, at)
      if (typeof opened === 'string') return opened
      length = opened.length
      depth += opened.isOpen ? 1 : 0
    } else if (character === ')') {
      if (depth === 0) return `unexpected ): \`${pattern}\``
      depth--
    } else if (character === '[') {
      const end = endOfClass(pattern, at)
      if (end === undefined) return `missing closing ]: \`${pattern.slice(at)}\``
      length = end - at
    } else if (character === '\\') {
      const escape = readEscape(pattern, at)
      if (typeof escape === 'string') return escape
      length = escape
    } else {
      const repetition = readRepetition(pattern, at)
      if (repetition?.problem !== undefined) return repetition.problem
      if (repetition && !isRepeatable) {
        return `missing argument to repetition operator: \`${repetition.text}\``
      }
      length = repetition?.text.length ?? 1
    }
    isRepeatable = character !== '(' && character !== '|'
    at += length
  }
  return depth === 0 ? undefined : `missing closing ): \`${pattern}\``
}

interface Group {
  readonly length: number
  /** False for flags such as `(?i)`, which do not open a group. */
  readonly isOpen: boolean
}

/** The start of a group, or an error message. */
function readGroup(pattern: string, at: number): Group | string {
  if (pattern.charAt(at + 1) !== '?') return { length: 1, isOpen: true }
  // Bounds the search: no group start is longer.
  const beginning = pattern.slice(at, at + groupCharactersMax)
  const named = /^\(\?P?<[A-Za-z0-9_]+>/.exec(beginning)
  if (named) return { length: named[0].length, isOpen: true }
  const flags = /^\(\?[imsU]*(?:-[imsU]+)?([:)])/.exec(beginning)
  if (flags) return { length: flags[0].length, isOpen: flags[1] === ':' }
  const shown = /^\(\?P?<?[^]/.exec(beginning)?.[0] ?? beginning
  return `invalid or unsupported Perl syntax: \`${shown}\``
}

const groupCharactersMax = 200

/** The end of a character class; a bracket that is first or escaped is a member. */
function endOfClass(pattern: string, start: number): number | undefined {
  const lastNamed = pattern.lastIndexOf(':]')
  let at = start + 1
  if (pattern.charAt(at) === '^') at++
  for (let isFirst = true; at < pattern.length; isFirst = false) {
    const character = pattern.charAt(at)
    if (character === ']' && !isFirst) return at + 1
    if (pattern.startsWith('[:', at) && at < lastNamed) {
      at = pattern.indexOf(':]', at) + 2
    } else {
      at += character === '\\' ? 2 : 1
    }
  }
  return undefined
}

/** The length of an escape, or an error message. */
function readEscape(pattern: string, at: number): number | string {
  const escaped = pattern.charAt(at + 1)
  if (escaped === '') return 'trailing backslash at end of expression: ``'
  if (escaped === 'Q') {
    const end = pattern.indexOf('\\E', at)
    return end === -1 ? pattern.length - at : end + 2 - at
  }
  const isReference = /[1-9]/.test(escaped) && !/[0-7]/.test(pattern.charAt(at + 2))
  const isUnknown = /[A-Za-z0-9]/.test(escaped) && !/[aftnrvx0-7dDsSwWbBAzpPC]/.test(escaped)
  return isReference || isUnknown ? `invalid escape sequence: \`\\${escaped}\`` : 2
}

interface Repetition {
  readonly text: string
  readonly problem?: string
}

const repetitionsMax = 1_000

/** The repetition counts of a quantifier; a trailing `?` makes it lazy. */
function readRepetition(pattern: string, at: number): Repetition | undefined {
  const beginning = pattern.slice(at, at + repetitionCharactersMax)
  const [text, low = '0', high = low] = /^(?:[*+?]|\{(\d+)(?:,(\d*))?\})\??/.exec(beginning) ?? []
  if (text === undefined) return undefined
  if (Number(low) > repetitionsMax || Number(high) > repetitionsMax) {
    return { text, problem: `invalid repeat count: \`${text}\`` }
  }
  const next = pattern.charAt(at + text.length)
  const isNested = next === '*' || next === '+' || next === '?'
  return isNested ? { text, problem: `invalid nested repetition operator: \`${text}${next}\`` } : { text }
}

const repetitionCharactersMax = 50
