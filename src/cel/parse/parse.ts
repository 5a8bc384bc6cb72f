/** A recursive descent parser. Depth and size are limited, so that code that walks a tree may recurse. */
import { CelError } from '../cel-error.ts'
import { type Macro, MacroError } from '../function.ts'
import {
  depthOf,
  type Call,
  type Expression,
  type ListElement,
  type MapEntry,
  type StructField,
} from '../syntax.ts'
import type { Value } from '../value.ts'
import { parseBytes, parseInt, parseString, parseUint } from './literal.ts'
import type { Token } from './token.ts'
import { tokenize } from './tokenize.ts'

export type FindMacro = (name: string, isReceiver: boolean, parameters: number) => Macro | undefined

/** Maximum length of an expression. */
const sourceCharactersMax = 100_000
/** Maximum nesting of brackets, and maximum operators of one precedence in a row. */
const nestingMax = 250
/** Maximum depth of a tree; each pair of brackets may add several levels. */
const depthMax = 500

/** Throws CelError with one issue. */
export function parse(source: string, findMacro: FindMacro): Expression {
  if (source.length > sourceCharactersMax) {
    const size = `size: ${source.length}, limit ${sourceCharactersMax}`
    throw new CelError(source, [
      { offset: undefined, message: `expression code point size exceeds limit: ${size}` },
    ])
  }
  const parser = new Parser(source, findMacro)
  const expression = parser.parseWhole()
  if (depthOf(expression, depthMax) > depthMax) throw tooDeep(source)
  return expression
}

function tooDeep(source: string): CelError {
  return new CelError(source, [
    { offset: undefined, message: `expression recursion limit exceeded: ${nestingMax}` },
  ])
}

const relations: ReadonlyMap<string, string> = new Map(
  ['<', '<=', '>', '>=', '==', '!='].map(sign => [sign, `_${sign}_`]),
).set('in', '@in')
const sums: ReadonlyMap<string, string> = new Map(['+', '-'].map(sign => [sign, `_${sign}_`]))
const products: ReadonlyMap<string, string> = new Map(['*', '/', '%'].map(sign => [sign, `_${sign}_`]))

/** The tokens that can begin an expression, as listed in messages. */
const starts =
  "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"

const reserved: ReadonlySet<string> = new Set(
  `as break const continue else for function if import let loop package namespace return var void while`.split(
    ' ',
  ),
)

class Parser {
  readonly #source: string
  readonly #tokens: readonly Token[]
  readonly #findMacro: FindMacro
  #at = 0
  #nesting = 0

  constructor(source: string, findMacro: FindMacro) {
    this.#source = source
    this.#tokens = tokenize(source)
    this.#findMacro = findMacro
  }

  parseWhole(): Expression {
    const expression = this.#expression()
    const next = this.#next
    if (next.kind !== 'end') {
      const isLast = this.#tokens[this.#at + 1]?.kind === 'end'
      throw this.#syntaxError(`${isLast ? 'extraneous' : 'mismatched'} input '${next.text}' expecting <EOF>`)
    }
    return expression
  }

  get #next(): Token {
    return this.#tokens[this.#at] ?? this.#tokens.at(-1)!
  }

  #expression(): Expression {
    if (++this.#nesting > nestingMax) throw tooDeep(this.#source)
    const condition = this.#logical('||')
    const { offset } = this.#next
    let expression = condition
    if (this.#take('?')) {
      const whenTrue = this.#logical('||')
      this.#expect(':')
      const parameters = [condition, whenTrue, this.#expression()]
      expression = { kind: 'call', name: '_?_:_', parameters, offset }
    }
    this.#nesting--
    return expression
  }

  /** A chain of one operator is a single call with all its terms. */
  #logical(operator: '||' | '&&'): Expression {
    const term = (): Expression => (operator === '||' ? this.#logical('&&') : this.#relation())
    const first = term()
    const { offset } = this.#next
    if (!this.#take(operator)) return first
    const parameters = [first, term()]
    while (this.#take(operator)) parameters.push(term())
    return { kind: 'call', name: `_${operator}_`, parameters, offset }
  }

  #relation(): Expression {
    return this.#chain(relations, () => this.#sum())
  }

  #sum(): Expression {
    return this.#chain(sums, () => this.#chain(products, () => this.#unary()))
  }

  #chain(operators: ReadonlyMap<string, string>, term: () => Expression): Expression {
    let expression = term()
    for (let length = 1; ; length++) {
      const { kind, text, offset } = this.#next
      const name = kind === 'symbol' ? operators.get(text) : undefined
      if (name === undefined) return expression
      if (length > nestingMax) throw tooDeep(this.#source)
      this.#at++
      expression = { kind: 'call', name, parameters: [expression, term()], offset }
    }
  }

  #unary(): Expression {
    const { text, offset, kind } = this.#next
    if (kind !== 'symbol' || (text !== '!' && text !== '-')) return this.#member()
    let count = 0
    while (this.#take(text)) count++
    // The last minus before a number belongs to the literal, since the smallest integer has no positive
    // counterpart.
    const follows = this.#next.kind
    if (text === '-' && (follows === 'int' || follows === 'double')) {
      this.#at--
      count--
    }
    const operand = this.#member()
    return count % 2 === 0 ? operand : { kind: 'call', name: `${text}_`, parameters: [operand], offset }
  }

  #member(): Expression {
    let expression = this.#primary()
    for (let length = 1; ; length++) {
      const { offset } = this.#next
      if (this.#take('.')) expression = this.#selection(expression, offset)
      else if (this.#take('[')) {
        const name = this.#take('?') ? '_[?_]' : '_[_]'
        const parameters = [expression, this.#expression()]
        this.#expect(']')
        expression = { kind: 'call', name, parameters, offset }
      } else return expression
      if (length > nestingMax) throw tooDeep(this.#source)
    }
  }

  #selection(operand: Expression, offset: number): Expression {
    const isOptional = this.#take('?')
    const name = this.#next
    const field = this.#field()
    const open = this.#next.offset
    if (isOptional || name.kind !== 'identifier' || !this.#take('(')) {
      return { kind: 'select', operand, field, mode: isOptional ? 'optional' : 'value', offset }
    }
    return this.#callOrMacro({
      kind: 'call',
      name: field,
      target: operand,
      parameters: this.#list(')', () => this.#expression()),
      offset: open,
    })
  }

  #field(): string {
    const { kind, text } = this.#next
    if (kind !== 'identifier' && kind !== 'quoted-identifier') {
      throw this.#syntaxError(`mismatched input '${text}' expecting IDENTIFIER`)
    }
    this.#at++
    return text
  }

  #primary(): Expression {
    const { kind, text, offset } = this.#next
    if (kind === 'identifier' || (kind === 'symbol' && text === '.')) return this.#named()
    if (kind !== 'symbol') return this.#number('')
    if (text === '-') {
      this.#at++
      return this.#number('-')
    }
    this.#at++
    switch (text) {
      case '(': {
        const expression = this.#expression()
        this.#expect(')')
        return expression
      }
      case '[':
        return { kind: 'list', elements: this.#list(']', () => this.#element()), offset }
      case '{':
        return { kind: 'map', entries: this.#list('}', () => this.#entry()), offset }
      case 'true':
      case 'false':
        return { kind: 'literal', value: text === 'true', offset }
      case 'null':
        return { kind: 'literal', value: null, offset }
      default:
        this.#at--
        throw this.#unexpected()
    }
  }

  /** The message depends on whether an expression could continue after skipping this token. */
  #unexpected(): CelError {
    const after = this.#tokens[this.#at + 1]
    const isExtra =
      after?.kind === 'symbol' ? startSymbols.has(after.text) : startKinds.has(after?.kind ?? 'end')
    const { text } = this.#next
    return this.#syntaxError(`${isExtra ? 'extraneous' : 'mismatched'} input '${text}' expecting ${starts}`)
  }

  /** An identifier, a function call or an object construction. */
  #named(): Expression {
    const start = this.#next.offset
    const dot = this.#take('.') ? '.' : ''
    const { kind, text, offset } = this.#next
    if (kind !== 'identifier') throw this.#syntaxError(`mismatched input '${text}' expecting IDENTIFIER`)
    const typeName = this.#typeName()
    if (typeName !== undefined) {
      const open = this.#next.offset
      this.#at++
      const fields = this.#list('}', () => this.#structField())
      return { kind: 'struct', typeName, fields, offset: open }
    }
    if (reserved.has(text)) throw this.#error(`reserved identifier: ${text}`, start)
    this.#at++
    const open = this.#next.offset
    if (!this.#take('(')) return { kind: 'identifier', name: `${dot}${text}`, offset }
    const parameters = this.#list(')', () => this.#expression())
    return this.#callOrMacro({ kind: 'call', name: `${dot}${text}`, parameters, offset: open })
  }

  /** The qualified type name before a brace; consumes nothing if there is no brace. */
  #typeName(): string | undefined {
    let at = this.#at
    let name = ''
    for (;;) {
      const token = this.#tokens[at]
      if (token?.kind !== 'identifier') return undefined
      name += token.text
      const after = this.#tokens[at + 1]
      if (after?.kind !== 'symbol') return undefined
      if (after.text === '{') break
      if (after.text !== '.') return undefined
      name += '.'
      at += 2
    }
    this.#at = at + 1
    return name
  }

  #element(): ListElement {
    const optional = this.#take('?')
    return { value: this.#expression(), optional }
  }

  #entry(): MapEntry {
    const optional = this.#take('?')
    const key = this.#expression()
    const { offset } = this.#next
    this.#expect(':')
    return { key, value: this.#expression(), optional, offset }
  }

  #structField(): StructField {
    const optional = this.#take('?')
    const name = this.#field()
    const { offset } = this.#next
    this.#expect(':')
    return { name, value: this.#expression(), optional, offset }
  }

  /** A comma-separated list up to a closing bracket; a trailing comma is allowed except in arguments. */
  #list<T>(close: string, item: () => T): T[] {
    const items: T[] = []
    while (!this.#take(close)) {
      if (items.length > 0) {
        this.#expectOneOf(',', close)
        if (close !== ')' && this.#take(close)) return items
      }
      items.push(item())
    }
    return items
  }

  #number(sign: string): Expression {
    const { kind, text, offset: start } = this.#next
    const offset = sign === '' ? start : this.#tokens[this.#at - 1]!.offset
    const value = literalValue(kind, sign, text)
    if (value === undefined) {
      if (!literalKinds.has(kind)) throw this.#unexpected()
      throw this.#error(`invalid ${kind} literal`, offset)
    }
    this.#at++
    return { kind: 'literal', value, offset }
  }

  #callOrMacro(call: Call): Expression {
    const macro = this.#findMacro(call.name, call.target !== undefined, call.parameters.length)
    if (macro === undefined) return call
    try {
      return macro.expand(call) ?? call
    } catch (error) {
      if (error instanceof MacroError) throw this.#error(error.message, error.offset)
      throw error
    }
  }

  #take(text: string): boolean {
    const { kind, text: actual } = this.#next
    if (kind !== 'symbol' || actual !== text) return false
    this.#at++
    return true
  }

  #expect(text: string): void {
    if (!this.#take(text))
      throw this.#syntaxError(`mismatched input '${this.#next.text}' expecting '${text}'`)
  }

  #expectOneOf(text: string, other: string): void {
    if (this.#take(text)) return
    throw this.#syntaxError(`mismatched input '${this.#next.text}' expecting {'${other}', '${text}'}`)
  }

  #syntaxError(complaint: string): CelError {
    return this.#error(`Syntax error: ${complaint}`, this.#next.offset)
  }

  #error(message: string, offset: number): CelError {
    return new CelError(this.#source, [{ offset, message }])
  }
}

const literalKinds: ReadonlySet<string> = new Set(['int', 'uint', 'double', 'string', 'bytes'])
const startKinds: ReadonlySet<string> = literalKinds.union(new Set(['identifier']))
const startSymbols: ReadonlySet<string> = new Set(['[', '{', '(', '.', '-', '!', 'true', 'false', 'null'])

function literalValue(kind: Token['kind'], sign: string, text: string): Value | undefined {
  if (kind === 'int') return parseInt(`${sign}${text}`)
  if (kind === 'double') return parseDouble(`${sign}${text}`)
  if (sign !== '') return undefined
  if (kind === 'uint') return parseUint(text)
  if (kind === 'string') return parseString(text)
  return kind === 'bytes' ? parseBytes(text) : undefined
}

function parseDouble(text: string): number | undefined {
  const value = Number(text)
  return Number.isFinite(value) ? value : undefined
}
