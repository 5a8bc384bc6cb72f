import { CelError } from '../cel-error.ts'
import type { Token, TokenKind } from './token.ts'

/** The tokens of an expression with a final end token. Throws CelError at an invalid token. */
export function tokenize(source: string): Token[] {
  const tokens: Token[] = []
  for (let offset = skipSpace(source, 0); offset < source.length;) {
    const token = tokenAt(source, offset)
    tokens.push(token)
    offset = skipSpace(source, offset + lengthOf(token))
  }
  tokens.push({ kind: 'end', text: '<EOF>', offset: source.length })
  return tokens
}

const space = /(?:[\t \r\n\f]|\/\/[^\n]*)*/y
const identifier = /[A-Za-z_][A-Za-z0-9_]*/y
const quotedIdentifier = /`[A-Za-z0-9_./ -]+`/y
const double = /[0-9]+(?:\.[0-9]+(?:[eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)|\.[0-9]+(?:[eE][+-]?[0-9]+)?/y
const integer = /(?:0x[0-9a-fA-F]+|[0-9]+)[uU]?/y
const symbol = /==|!=|<=|>=|&&|\|\||[-<>[\]{}().,!?:+*/%]/y
const stringStart = /([bB]?[rR]?)('''|"""|'|")/y
const words: ReadonlySet<string> = new Set(['in', 'true', 'false', 'null'])
const escapeSequence = new RegExp(
  String.raw`\\(?:[abfnrtv"'\\?${'`'}]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})`,
  'y',
)

function skipSpace(source: string, offset: number): number {
  return offset + (matchAt(space, source, offset)?.length ?? 0)
}

function tokenAt(source: string, offset: number): Token {
  const string = stringAt(source, offset)
  if (string !== undefined) return { kind: isBytes(string) ? 'bytes' : 'string', text: string, offset }
  const name = matchAt(identifier, source, offset)
  if (name !== undefined) return { kind: words.has(name) ? 'symbol' : 'identifier', text: name, offset }
  const quoted = matchAt(quotedIdentifier, source, offset)
  if (quoted !== undefined) return { kind: 'quoted-identifier', text: quoted.slice(1, -1), offset }
  const real = matchAt(double, source, offset)
  if (real !== undefined) return { kind: 'double', text: real, offset }
  const whole = matchAt(integer, source, offset)
  if (whole !== undefined) return { kind: kindOfInteger(whole), text: whole, offset }
  const sign = matchAt(symbol, source, offset)
  if (sign !== undefined) return { kind: 'symbol', text: sign, offset }
  throw unrecognized(source, offset, String.fromCodePoint(source.codePointAt(offset) ?? 0))
}

function lengthOf(token: Token): number {
  return token.text.length + (token.kind === 'quoted-identifier' ? 2 : 0)
}

function kindOfInteger(text: string): TokenKind {
  return /[uU]$/.test(text) ? 'uint' : 'int'
}

function isBytes(string: string): boolean {
  return string.startsWith('b') || string.startsWith('B')
}

/** The source text of a string or bytes literal; undefined if none starts here. */
function stringAt(source: string, offset: number): string | undefined {
  stringStart.lastIndex = offset
  const [start, prefix = '', quote = ''] = stringStart.exec(source) ?? []
  if (start === undefined) return undefined
  const isRaw = /[rR]$/.test(prefix)
  const isLong = quote.length === 3
  let at = offset + start.length
  while (at < source.length) {
    if (source.startsWith(quote, at)) return source.slice(offset, at + quote.length)
    const character = source.charAt(at)
    if (!isLong && (character === '\n' || character === '\r')) break
    if (character !== '\\' || isRaw) {
      at++
      continue
    }
    const escape = matchAt(escapeSequence, source, at)
    if (escape === undefined) throw unrecognized(source, offset, source.slice(offset, at + 2))
    at += escape.length
  }
  throw unrecognized(source, offset, source.slice(offset, at))
}

function matchAt(pattern: RegExp, source: string, offset: number): string | undefined {
  pattern.lastIndex = offset
  return pattern.exec(source)?.[0]
}

/** Maximum characters of an invalid token in the message. */
const shownCharactersMax = 100

function unrecognized(source: string, offset: number, text: string): CelError {
  const shown = text.slice(0, shownCharactersMax).replaceAll('\n', String.raw`\n`)
  return new CelError(source, [{ offset, message: `Syntax error: token recognition error at: '${shown}'` }])
}
