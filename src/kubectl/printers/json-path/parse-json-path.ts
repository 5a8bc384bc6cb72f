import { GoNumber, nameCharacter } from '../go-format.ts'
import { unquote } from '../unquote.ts'
import { JsonPathError } from './json-path-error.ts'

/** A part of a template. Each maps the values that the part before it has found to those that it finds. */
export type JsonPathNode =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'literal'; readonly value: GoNumber | boolean }
  | { readonly kind: 'field'; readonly name: string }
  /** `range`, `end` or a word that is invalid when it is evaluated. */
  | { readonly kind: 'identifier'; readonly name: string }
  | { readonly kind: 'wildcard' }
  | { readonly kind: 'recursive' }
  | JsonPathSlice
  | { readonly kind: 'union'; readonly parts: readonly JsonPathList[] }
  | JsonPathFilter
  | JsonPathList

export interface JsonPathList {
  readonly kind: 'list'
  readonly nodes: readonly JsonPathNode[]
}

export interface JsonPathSlice {
  readonly kind: 'slice'
  readonly start: number
  readonly end: number | undefined
  /** A single index, whose end is the next one. */
  readonly isIndex: boolean
  readonly step: number | undefined
}

export interface JsonPathFilter {
  readonly kind: 'filter'
  readonly left: JsonPathList
  /** Absent if the left side must only exist. */
  readonly comparison?: { readonly operator: string; readonly right: JsonPathList }
}

/** The texts and the actions in braces. Throws JsonPathError. */
export function parseJsonPath(text: string): readonly JsonPathNode[] {
  return new Parser(text).parse()
}

/** The nodes of an action without its braces. */
function parseAction(text: string): JsonPathList {
  const [first] = parseJsonPath(`{${text}}`)
  return first?.kind === 'list' ? first : { kind: 'list', nodes: [] }
}

class Parser {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  parse(): readonly JsonPathNode[] {
    const nodes: JsonPathNode[] = []
    for (;;) {
      const open = this.#text.indexOf('{', this.#at)
      const text = this.#text.slice(this.#at, open === -1 ? undefined : open)
      if (text !== '') nodes.push({ kind: 'text', text })
      if (open === -1) return nodes
      this.#at = open + 1
      nodes.push(this.#parseAction())
    }
  }

  #parseAction(): JsonPathList {
    const nodes: JsonPathNode[] = []
    while (!this.#take('}')) this.#parseStep(nodes)
    return { kind: 'list', nodes }
  }

  #parseStep(nodes: JsonPathNode[]): void {
    if (this.#take('[?(')) nodes.push(this.#parseFilter())
    else if (this.#take('..')) this.#parseRecursive(nodes)
    else if (this.#take('.')) nodes.push(this.#parseField())
    else if (this.#take('[')) nodes.push(...this.#parseSubscript())
    else if (this.#take('"')) nodes.push(this.#parseQuoted('"'))
    else if (this.#take("'")) nodes.push(this.#parseQuoted("'"))
    else if (!this.#take(' ') && !this.#take('@') && !this.#take('$')) nodes.push(this.#parseWord())
  }

  #parseRecursive(nodes: JsonPathNode[]): void {
    if (nodes.at(-1)?.kind === 'recursive') throw new JsonPathError('invalid multiple recursive descent')
    nodes.push({ kind: 'recursive' })
    if (this.#peek(wordStart)) nodes.push(this.#parseField())
  }

  #parseField(): JsonPathNode {
    const name = this.#match(fieldName)
    return name === '*' ? { kind: 'wildcard' } : { kind: 'field', name: name.replaceAll('\\', '') }
  }

  /** A number, or a word such as `range`. */
  #parseWord(): JsonPathNode {
    if (this.#peek(numberStart)) return parseNumber(this.#match(number))
    if (!this.#peek(wordStart)) {
      const [character = ''] = this.#text.slice(this.#at, this.#at + 2)
      if (character === '' || character === '\r' || character === '\n')
        throw new JsonPathError('unclosed action')
      throw new JsonPathError(`unrecognized character in action: ${nameCharacter(character)}`)
    }
    const name = this.#match(word)
    if (name === 'true' || name === 'false') return { kind: 'literal', value: name === 'true' }
    return { kind: 'identifier', name }
  }

  #parseQuoted(mark: string): JsonPathNode {
    for (let end = this.#at; ; end++) {
      const character = this.#text.charAt(end)
      if (character === '' || character === '\n') throw new JsonPathError('unterminated quoted string')
      if (character !== mark || this.#text.charAt(end - 1) === '\\') continue
      const literal = this.#text.slice(this.#at, end)
      this.#at = end + 1
      const text = unquote(literal, mark)
      if (text !== undefined) return { kind: 'text', text }
      throw new JsonPathError(`unquote string ${mark}${literal}${mark} error invalid syntax`)
    }
  }

  /** The part after an opening bracket, with the closing one. */
  #parseSubscript(): readonly JsonPathNode[] {
    const inside = this.#match(untilBracket)
    if (!this.#take(']')) throw new JsonPathError('unterminated array')
    const text = inside === '*' ? ':' : inside
    const parts = text.split(',')
    if (parts.length > 1) {
      const lists = parts.map(part => parseAction(`[${part.replaceAll(/^ +| +$/g, '')}]`))
      return [{ kind: 'union', parts: lists }]
    }
    const [, key] = quotedKey.exec(text) ?? []
    // The key is parsed as a path: dots in it must be escaped.
    return key === undefined ? [parseSlice(text)] : parseAction(`.${key}`).nodes
  }

  #parseFilter(): JsonPathFilter {
    const text = this.#filterText()
    const [, left, operator, right] = comparison.exec(text) ?? []
    if (left === undefined || operator === undefined || right === undefined) {
      return { kind: 'filter', left: parseAction(text) }
    }
    return {
      kind: 'filter',
      left: parseAction(left),
      comparison: { operator, right: parseAction(right) },
    }
  }

  /** The text up to the closing parenthesis, which may be in a quoted string before. */
  #filterText(): string {
    const start = this.#at
    let mark: string | undefined
    let closed = false
    for (;;) {
      const character = this.#text.charAt(this.#at)
      if (character === '' || character === '\n') throw new JsonPathError('unterminated filter')
      this.#at++
      if (character === ')' && (mark !== undefined) === closed) break
      if (character !== '"' && character !== "'") continue
      if (mark === undefined) mark = character
      else if (mark === character && this.#text.charAt(this.#at - 2) !== '\\') closed = true
    }
    if (!this.#take(']')) throw new JsonPathError('unclosed array expect ]')
    return this.#text.slice(start, this.#at - 2)
  }

  #peek(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at
    return pattern.test(this.#text)
  }

  /** Consumes a match of a sticky pattern that also matches nothing. */
  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    const [text = ''] = pattern.exec(this.#text) ?? []
    this.#at += text.length
    return text
  }

  #take(token: string): boolean {
    if (!this.#text.startsWith(token, this.#at)) return false
    this.#at += token.length
    return true
  }
}

const wordStart = /[\p{L}\p{Nd}_]/uy
const word = /[^ \t\r\n.,[\]$@{}]*/y
const fieldName = /(?:\\[^]?|[^\\ \t\r\n.,[\]$@{}])*/uy
const numberStart = /[-+\p{Nd}]/uy
const number = /[-+]?[\p{Nd}.]*/uy
const untilBracket = /[^\]\n]*/y
const quotedKey = /^'([^']*)'$/
const comparison = /^([^!<>=]+)([!<>=]+)(.+)$/
const slice = /^(-?[0-9]*)(?::(-?[0-9]*))?(?::(-?[0-9]*))?$/

function parseNumber(text: string): JsonPathNode {
  if (/^[-+]?[0-9]+$/.test(text)) {
    const value = BigInt(text.replace('+', ''))
    if (BigInt.asIntN(64, value) === value) return { kind: 'literal', value: new GoNumber('int', value) }
  }
  if (!/^[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)$/.test(text))
    throw new JsonPathError(`cannot parse number ${text}`)
  return { kind: 'literal', value: new GoNumber('float64', Number(text)) }
}

function parseSlice(text: string): JsonPathSlice {
  const match = slice.exec(text)
  if (match === null) throw new JsonPathError(`invalid array index ${text}`)
  const [, first = '', second, third] = match
  const start = indexOf(first) ?? 0
  const isIndex = second === undefined
  return {
    kind: 'slice',
    start,
    end: isIndex ? start + 1 : indexOf(second),
    isIndex,
    step: indexOf(third ?? ''),
  }
}

function indexOf(text: string): number | undefined {
  if (text === '') return undefined
  const value = Number(text)
  if (text === '-' || Math.abs(value) >= 2 ** 63)
    throw new JsonPathError(`array index ${text} is not a number`)
  return value
}
