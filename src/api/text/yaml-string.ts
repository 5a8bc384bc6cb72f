/**
 * Prints a string as YAML: plain if unambiguous, a block for multiple lines, otherwise in single or double
 * quotes. The choice is that of Kubernetes' printer, so that outputs can be compared line by line.
 */
import { needsQuotes } from './yaml-scalar.ts'

/** Position of a scalar: the column of its first character, and the indentation of further lines. */
export interface ScalarPosition {
  readonly indent: number
  readonly column: number
  readonly place: 'root' | 'key' | 'value'
}

/** A block ends with a line break, other styles do not. */
export function writeYamlString(value: string, position: ScalarPosition): string {
  const text = value.toWellFormed()
  if (text.includes('\n')) {
    return isBlockAllowed(text, position.place) ? block(text, position.indent) : doubleQuoted(text, position)
  }
  if (needsEscapes.test(text) || needsQuotes(text)) return doubleQuoted(text, position)
  return isPlainAllowed(text) ? fold(text.split(' '), position) : singleQuoted(text, position)
}

/** Beyond this column a line is folded at the next single space. */
const foldColumn = 80

/**
 * Unprintable characters, tabs, characters beyond the BMP, and line breaks of YAML 1.1 that YAML 1.2 does not
 * have.
 */
const needsEscapes = /[^\n\x20-\x7e\u00a0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]/u

function isBlockAllowed(text: string, place: ScalarPosition['place']): boolean {
  if (place === 'key' || needsEscapes.test(text)) return false
  // A block that starts with a space needs an indentation indicator relative to a parent, which the root does
  // not have.
  if (place === 'root' && /^[ \n]/.test(text)) return false
  return !text.endsWith(' ') && !text.includes(' \n')
}

function block(text: string, indent: number): string {
  const indentHint = /^[ \n]/.test(text) ? '2' : ''
  const endHint = !text.endsWith('\n') ? '-' : text === '\n' || text.endsWith('\n\n') ? '+' : ''
  const margin = ' '.repeat(indent)
  const lines = text.replaceAll(/^(?=[^\n])/gm, margin)
  return `|${indentHint}${endHint}\n${lines}${endHint === '-' ? '\n' : ''}`
}

function isPlainAllowed(text: string): boolean {
  if (/^(?:---|\.\.\.|[ #,[\]{}&*!|>'"%@`]|[-?:](?: |$))/.test(text)) return false
  return !text.endsWith(' ') && !text.endsWith(':') && !text.includes(': ') && !text.includes(' #')
}

function singleQuoted(text: string, position: ScalarPosition): string {
  const words = text.replaceAll("'", "''").split(' ')
  return `'${fold(words, { ...position, column: position.column + 1 })}'`
}

/** Folds a long line into several, which a parser joins with spaces. */
function fold(words: readonly string[], { indent, column, place }: ScalarPosition): string {
  let text = words[0] ?? ''
  let reached = column + countCharacters(text)
  for (let index = 1; index < words.length; index++) {
    const word = words[index] as string
    const isSingleSpace = words[index - 1] !== '' && word !== ''
    if (place !== 'key' && reached > foldColumn && isSingleSpace) {
      text += `\n${' '.repeat(indent)}${word}`
      reached = indent + countCharacters(word)
    } else {
      text += ` ${word}`
      reached += 1 + countCharacters(word)
    }
  }
  return text
}

function doubleQuoted(text: string, { indent, column, place }: ScalarPosition): string {
  const words = text.split(' ').map(escape)
  let quoted = `"${words[0] ?? ''}`
  let reached = column + countCharacters(quoted)
  for (let index = 1; index < words.length; index++) {
    const word = words[index] as string
    const isFirstSpace = words[index - 1] !== ''
    const isAtEnd = index === words.length - 1 && word === ''
    if (place !== 'key' && reached > foldColumn && isFirstSpace && !isAtEnd) {
      // The line break represents the first of several spaces; the backslash keeps the next from being read
      // as indentation.
      const next = word === '' ? '\\' : word
      quoted += `\n${' '.repeat(indent)}${next}`
      reached = indent + countCharacters(next)
    } else {
      quoted += ` ${word}`
      reached += 1 + countCharacters(word)
    }
  }
  return `${quoted}"`
}

const escapes: ReadonlyMap<string, string> = new Map([
  ['\0', '\\0'],
  ['\x07', '\\a'],
  ['\b', '\\b'],
  ['\t', '\\t'],
  ['\n', '\\n'],
  ['\v', '\\v'],
  ['\f', '\\f'],
  ['\r', '\\r'],
  ['\x1b', '\\e'],
  ['"', '\\"'],
  ['\\', '\\\\'],
  ['\x85', '\\N'],
  ['\u2028', '\\L'],
  ['\u2029', '\\P'],
])
const escaped = /["\\]|[^\x20-\x7e\u00a0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]/gu

function escape(word: string): string {
  return word.replaceAll(escaped, character => escapes.get(character) ?? escapeCode(character))
}

function escapeCode(character: string): string {
  const code = character.codePointAt(0) ?? 0
  const digits = code.toString(16).toUpperCase()
  if (code <= 0xff) return `\\x${digits.padStart(2, '0')}`
  return code <= 0xffff ? `\\u${digits.padStart(4, '0')}` : `\\U${digits.padStart(8, '0')}`
}

/** Counts code points, not UTF-16 code units. */
function countCharacters(text: string): number {
  let count = text.length
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code >= 0xd800 && code < 0xdc00) count--
  }
  return count
}
