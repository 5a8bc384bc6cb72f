/**
 * Describes JSON syntax errors with the messages of Go's parser: `invalid character 'a' looking for beginning
 * of value`. The JavaScript engine's messages change between versions. Linear time, no recursion.
 */
import { quote } from './quote.ts'

export function describeJsonSyntaxError(text: string): string {
  const fault = findFault(text)
  if (fault === undefined || fault.at >= text.length) return 'unexpected end of JSON input'
  return `invalid character ${showCharacter(text, fault.at)} ${fault.where}`
}

interface Fault {
  readonly at: number
  readonly where: string
}

/** The tokens that may come next. */
type State = 'value' | 'value or ]' | 'key' | 'key or }' | 'colon' | 'after value'

interface Reader {
  readonly text: string
  at: number
  state: State
  /** Unclosed opening brackets. */
  readonly open: string[]
  fault: Fault | undefined
}

function findFault(text: string): Fault | undefined {
  const reader: Reader = { text, at: 0, state: 'value', open: [], fault: undefined }
  while (reader.fault === undefined) {
    skipSpace(reader)
    if (reader.at >= text.length) {
      if (reader.state === 'after value' && reader.open.length === 0) return undefined
      fail(reader, '')
    } else {
      step(reader, text.charAt(reader.at))
    }
  }
  return reader.fault
}

function step(reader: Reader, character: string): void {
  switch (reader.state) {
    case 'value or ]':
      if (character === ']') return close(reader)
      return readValue(reader, character)
    case 'value':
      return readValue(reader, character)
    case 'key or }':
      if (character === '}') return close(reader)
      return readKey(reader, character)
    case 'key':
      return readKey(reader, character)
    case 'colon':
      if (character !== ':') return fail(reader, 'after object key')
      return advance(reader, 'value')
    case 'after value':
      return readSeparator(reader, character)
  }
}

function readValue(reader: Reader, character: string): void {
  reader.state = 'after value'
  if (character === '"') readString(reader)
  else if (character === '{') open(reader, '{', 'key or }')
  else if (character === '[') open(reader, '[', 'value or ]')
  else if (character === '-' || isDigit(character)) readNumber(reader)
  else if (character === 't') readLiteral(reader, 'true')
  else if (character === 'f') readLiteral(reader, 'false')
  else if (character === 'n') readLiteral(reader, 'null')
  else fail(reader, 'looking for beginning of value')
}

function readKey(reader: Reader, character: string): void {
  if (character !== '"') return fail(reader, 'looking for beginning of object key string')
  reader.state = 'colon'
  readString(reader)
}

function readSeparator(reader: Reader, character: string): void {
  const inside = reader.open.at(-1)
  if (inside === undefined) fail(reader, 'after top-level value')
  else if (inside === '{') {
    if (character === '}') close(reader)
    else if (character === ',') advance(reader, 'key')
    else fail(reader, 'after object key:value pair')
  } else if (character === ']') close(reader)
  else if (character === ',') advance(reader, 'value')
  else fail(reader, 'after array element')
}

function readString(reader: Reader): void {
  const { text } = reader
  for (reader.at++; reader.at < text.length; reader.at++) {
    const character = text.charAt(reader.at)
    if (character === '"') {
      reader.at++
      return
    }
    if (character < ' ') return fail(reader, 'in string literal')
    if (character === '\\') {
      reader.at++
      if (!readEscape(reader)) return
    }
  }
  fail(reader, '')
}

/** If true is returned, the reader is at the last character of the escape. */
function readEscape(reader: Reader): boolean {
  const character = reader.text.charAt(reader.at)
  if (character !== 'u') {
    if (character !== '' && '"\\/bfnrt'.includes(character)) return true
    fail(reader, 'in string escape code')
    return false
  }
  for (let digit = 0; digit < 4; digit++) {
    reader.at++
    if (!/^[0-9a-fA-F]$/.test(reader.text.charAt(reader.at))) {
      fail(reader, 'in \\u hexadecimal character escape')
      return false
    }
  }
  return true
}

function readNumber(reader: Reader): void {
  const { text } = reader
  if (text.charAt(reader.at) === '-') reader.at++
  if (text.charAt(reader.at) === '0') reader.at++
  else if (!skipDigits(reader)) return fail(reader, 'in numeric literal')
  if (text.charAt(reader.at) === '.') {
    reader.at++
    if (!skipDigits(reader)) return fail(reader, 'after decimal point in numeric literal')
  }
  if (text.charAt(reader.at).toLowerCase() === 'e') {
    reader.at++
    if ('+-'.includes(text.charAt(reader.at)) && reader.at < text.length) reader.at++
    if (!skipDigits(reader)) fail(reader, 'in exponent of numeric literal')
  }
}

function readLiteral(reader: Reader, literal: string): void {
  for (const expected of literal) {
    if (reader.text.charAt(reader.at) !== expected) {
      return fail(reader, `in literal ${literal} (expecting '${expected}')`)
    }
    reader.at++
  }
}

function skipDigits(reader: Reader): boolean {
  const start = reader.at
  while (isDigit(reader.text.charAt(reader.at))) reader.at++
  return reader.at > start
}

function skipSpace(reader: Reader): void {
  while (reader.at < reader.text.length && ' \t\r\n'.includes(reader.text.charAt(reader.at))) reader.at++
}

function isDigit(character: string): boolean {
  return character >= '0' && character <= '9'
}

function open(reader: Reader, bracket: string, state: State): void {
  reader.open.push(bracket)
  advance(reader, state)
}

function close(reader: Reader): void {
  reader.open.pop()
  advance(reader, 'after value')
}

function advance(reader: Reader, state: State): void {
  reader.at++
  reader.state = state
}

function fail(reader: Reader, where: string): void {
  reader.fault ??= { at: reader.at, where }
}

/** Go's parser reads bytes, so for a non-ASCII character it prints the first byte as a character. */
function showCharacter(text: string, at: number): string {
  const character = text.charAt(at)
  if (character === "'") return `'\\''`
  if (character === '"') return `'"'`
  const first = Buffer.from(String.fromCodePoint(text.codePointAt(at) ?? 0))[0] ?? 0
  return `'${quote(String.fromCharCode(first)).slice(1, -1)}'`
}
