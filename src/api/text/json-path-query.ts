/**
 * Queries with kubectl's JSONPath dialect: `.status.conditions[?(@.type=="Ready")].status`. Printer columns
 * and selectable fields of custom resources use it. Missing members give no result.
 * https://kubernetes.io/docs/reference/kubectl/jsonpath/
 */
import { isObject } from './json-object.ts'
import type { JsonValue } from './json-value.ts'
import { quote } from './quote.ts'

/** The path is not a valid JSONPath. */
export class JsonPathError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'JsonPathError'
  }
}

/** Returns all matches in order. */
export type JsonPathQuery = (root: JsonValue) => readonly JsonValue[]

/** Throws JsonPathError. */
export function compileJsonPath(path: string): JsonPathQuery {
  const steps = new PathParser(path).parse()
  return root => select(steps, [root], root)
}

/** Maps the matches so far to the next ones. */
type Step = (values: readonly JsonValue[], root: JsonValue) => readonly JsonValue[]

function select(steps: readonly Step[], start: readonly JsonValue[], root: JsonValue): readonly JsonValue[] {
  let values = start
  for (const step of steps) values = step(values, root)
  return values
}

class PathParser {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  parse(): readonly Step[] {
    const steps = this.#parseSteps()
    if (this.#at < this.#text.length) throw this.#unexpected()
    return steps
  }

  #parseSteps(): Step[] {
    const steps: Step[] = []
    if (this.#take('$')) steps.push((values, root) => values.map(() => root))
    else this.#take('@')
    for (;;) {
      if (this.#take('..')) steps.push(descendants, this.#parseMember())
      else if (this.#take('.[')) steps.push(this.#parseBracket())
      else if (this.#take('[')) steps.push(this.#parseBracket())
      else if (this.#take('.')) {
        if (this.#at < this.#text.length) steps.push(this.#parseMember())
      } else return steps
    }
  }

  /** A name, in which a backslash escapes the next character, or `*`. */
  #parseMember(): Step {
    if (this.#take('[')) return this.#parseBracket()
    if (this.#take('*')) return allMembers
    const [name] = this.#match(memberName) ?? []
    if (name === undefined) throw this.#unexpected()
    return member(name.replaceAll(/\\(.)/gu, '$1'))
  }

  /** The part after an opening bracket, with the closing one. */
  #parseBracket(): Step {
    if (this.#take('?(')) return this.#parseFilter()
    const parts: Step[] = []
    do parts.push(this.#parseSubscript())
    while (this.#take(','))
    if (!this.#take(']')) throw this.#error('unterminated array')
    const [only] = parts
    return parts.length === 1 && only
      ? only
      : (values, root) => values.flatMap(value => parts.flatMap(part => part([value], root)))
  }

  #parseSubscript(): Step {
    this.#skipBlanks()
    const text = this.#parseString()
    if (text !== undefined) return member(text)
    if (this.#take('*')) return allMembers
    const [all = '', start = '', end, stride] = this.#match(subscript) ?? []
    if (all === '') throw this.#error('invalid array index')
    this.#skipBlanks()
    if (end === undefined) return item(Number(start))
    return slice({ start: indexOf(start), end: indexOf(end), stride: indexOf(stride ?? '') ?? 1 })
  }

  #parseFilter(): Step {
    const left = this.#parseOperand()
    this.#skipBlanks()
    const [operator] = this.#match(comparison) ?? []
    const right = operator === undefined ? undefined : this.#parseOperand()
    this.#skipBlanks()
    if (!this.#take(')]')) throw this.#error('unterminated filter')
    return (values, root) => {
      return values.flatMap(membersOf).filter(each => holds({ left, operator, right }, each, root))
    }
  }

  /** A path, or a literal. */
  #parseOperand(): Operand {
    this.#skipBlanks()
    const text = this.#parseString()
    if (text !== undefined) return () => [text]
    const [literal] = this.#match(scalar) ?? []
    if (literal !== undefined) {
      const value = JSON.parse(literal) as JsonValue
      return () => [value]
    }
    const steps = this.#parseSteps()
    return (value, root) => select(steps, [value], root)
  }

  #parseString(): string | undefined {
    const match = this.#match(quoted)
    if (match === undefined) return undefined
    return (match[1] ?? match[2] ?? '').replaceAll(/\\(.)/gsu, '$1')
  }

  /** Consumes a match at the current position. The pattern is sticky. */
  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at
    const match = pattern.exec(this.#text)
    if (match === null) return undefined
    this.#at += match[0].length
    return match
  }

  #take(token: string): boolean {
    if (!this.#text.startsWith(token, this.#at)) return false
    this.#at += token.length
    return true
  }

  #skipBlanks(): void {
    while (this.#text[this.#at] === ' ') this.#at += 1
  }

  #unexpected(): JsonPathError {
    return this.#error(`unrecognized character in action: ${quote(this.#text.charAt(this.#at))}`)
  }

  #error(problem: string): JsonPathError {
    return new JsonPathError(`${problem} in ${quote(this.#text)}`)
  }
}

const memberName = /(?:[^\s.[\](){}<>=!&|,'"\\]|\\.)+/uy
const subscript = /(-?\d*)(?::(-?\d*))?(?::(-?\d*))?/y
const comparison = /==|!=|<=|>=|<|>/y
const scalar = /-?\d+(?:\.\d+)?|true|false/y
const quoted = /"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'/suy

type Operand = (value: JsonValue, root: JsonValue) => readonly JsonValue[]

interface Filter {
  readonly left: Operand
  /** Without an operator the left side must exist. */
  readonly operator: string | undefined
  readonly right: Operand | undefined
}

function holds({ left, operator, right }: Filter, value: JsonValue, root: JsonValue): boolean {
  const [a] = left(value, root)
  if (right === undefined) return a !== undefined
  const [b] = right(value, root)
  if (a === undefined || b === undefined || typeof a !== typeof b || a === null || b === null) return false
  switch (operator) {
    case '==':
      return a === b
    case '!=':
      return a !== b
    case '<':
      return a < b
    case '<=':
      return a <= b
    case '>':
      return a > b
    case '>=':
      return a >= b
    case undefined:
    default:
      return false
  }
}

/** The members of an object by key, or the items of a list. */
function membersOf(value: JsonValue): readonly JsonValue[] {
  if (Array.isArray(value)) return value
  if (!isObject(value)) return []
  return Object.keys(value)
    .sort()
    .map(key => value[key] as JsonValue)
}

const allMembers: Step = values => values.flatMap(membersOf)

const descendants: Step = values => {
  const found: JsonValue[] = []
  const pending = [...values].reverse()
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    found.push(value)
    for (const each of [...membersOf(value)].reverse()) pending.push(each)
  }
  return found
}

function member(name: string): Step {
  return values =>
    values.flatMap(value => (isObject(value) && Object.hasOwn(value, name) ? [value[name] as JsonValue] : []))
}

function item(index: number): Step {
  return values =>
    values.flatMap(value => {
      const found = Array.isArray(value) ? value.at(index) : undefined
      return found === undefined ? [] : [found]
    })
}

function indexOf(text: string): number | undefined {
  return text === '' ? undefined : Number(text)
}

interface Slice {
  readonly start: number | undefined
  readonly end: number | undefined
  readonly stride: number
}

function slice({ start, end, stride }: Slice): Step {
  return values =>
    values.flatMap(value => {
      return Array.isArray(value) && stride > 0
        ? value.slice(start, end).filter((_item, index) => index % stride === 0)
        : []
    })
}
