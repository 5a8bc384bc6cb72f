import { bytesOfText, textOfBytes } from '../byte-text.ts'
import { formatValue, GoNumber, typeOf, type GoValue } from '../go-format.ts'
import { areEqual, isLess } from './comparison.ts'
import { decodeBase64 } from './decode-base64.ts'
import { escapeHtml, escapeJavaScript, escapeUrlQuery } from './escapes.ts'
import { sprintf } from './printf.ts'
import type { Operand } from './nodes.ts'
import { sourceOf } from './nodes.ts'
import { Boxed, integer, isMap, isNil, isTrue, lengthOf, toInteger, unbox } from './template-value.ts'
import type { TemplateValue } from './template-value.ts'

export interface TemplateFunction {
  /** The types of the parameters that are always given. */
  readonly parameters: readonly ('any' | 'string')[]
  readonly isVariadic: boolean
  /** True if this argument is the result, and those after it are not evaluated. */
  readonly isDecisive?: (value: TemplateValue) => boolean
  /** Throws an error with Go's message. */
  readonly call: (values: readonly TemplateValue[], first: Operand | undefined) => TemplateValue
}

/** The functions of templates by name: Go's, and `exists` and `base64decode` of kubectl. */
export const functions: Readonly<Record<string, TemplateFunction>> = {
  and: { ...variadic(1, values => values.at(-1)), isDecisive: value => !isTrue(value) },
  base64decode: { parameters: ['string'], isVariadic: false, call: ([text]) => decodeBase64(textOf(text)) },
  call: { ...variadic(1, () => undefined), call },
  eq: variadic(1, ([first, ...others]) => {
    if (others.length === 0) throw new Error('missing argument for comparison')
    return others.some(other => areEqual(first, other))
  }),
  exists: variadic(1, exists),
  ge: fixed(2, ([a, b]) => !isLess(a, b)),
  gt: fixed(2, ([a, b]) => !isLess(a, b) && !areEqual(a, b)),
  html: variadic(0, values => escapeHtml(printShown(values))),
  index: variadic(1, index),
  js: variadic(0, values => escapeJavaScript(printShown(values))),
  le: fixed(2, ([a, b]) => isLess(a, b) || areEqual(a, b)),
  len: fixed(1, length),
  lt: fixed(2, ([a, b]) => isLess(a, b)),
  ne: fixed(2, ([a, b]) => !areEqual(a, b)),
  not: fixed(1, ([value]) => !isTrue(value)),
  or: { ...variadic(1, values => values.at(-1)), isDecisive: isTrue },
  print: variadic(0, print),
  printf: {
    parameters: ['string'],
    isVariadic: true,
    call: ([format, ...values]) => sprintf(textOf(format), values.map(unbox)),
  },
  println: variadic(0, values => `${values.map(value => formatValue(unbox(value))).join(' ')}\n`),
  slice: variadic(1, slice),
  urlquery: variadic(0, values => escapeUrlQuery(printShown(values))),
}

/** Of an argument that is known to be a string. */
function textOf(value: TemplateValue): string {
  return typeof value === 'string' ? value : ''
}

type Call = (values: readonly TemplateValue[]) => TemplateValue

function fixed(count: number, call: Call): TemplateFunction {
  return { parameters: Array.from({ length: count }, () => 'any' as const), isVariadic: false, call }
}

function variadic(count: number, call: Call): TemplateFunction {
  return { ...fixed(count, call), isVariadic: true }
}

/** Operands that are not strings are separated by spaces. */
function print(values: readonly TemplateValue[]): string {
  let text = ''
  for (const [at, value] of values.entries()) {
    const previous = at === 0 ? '' : unbox(values[at - 1])
    if (typeof previous !== 'string' && typeof unbox(value) !== 'string') text += ' '
    text += formatValue(unbox(value))
  }
  return text
}

function printShown(values: readonly TemplateValue[]): string {
  return print(values.map(value => (isNil(value) ? '<no value>' : value)))
}

/** No value is a function. */
function call([callee]: readonly TemplateValue[], first: Operand | undefined): TemplateValue {
  const value = unbox(callee)
  if (value === undefined) throw new Error('call of nil')
  const name = first === undefined ? `<${typeOf(value)} Value>` : sourceOf(first)
  throw new Error(
    `non-function ${typeof value === 'string' && first === undefined ? value : name} of type ${typeOf(value)}`,
  )
}

function length([value]: readonly TemplateValue[]): TemplateValue {
  if (value === undefined) throw new Error('reflect: call of reflect.Value.Type on zero Value')
  if (isNil(value)) throw new Error('len of nil pointer')
  const count = lengthOf(unbox(value))
  if (count === undefined) throw new Error(`len of type ${typeOf(unbox(value))}`)
  return integer(count)
}

function index([item, ...indexes]: readonly TemplateValue[]): TemplateValue {
  if (isNil(item)) throw new Error('index of untyped nil')
  let current = item
  for (const each of indexes) {
    const value = unbox(current)
    if (value === undefined) throw new Error('index of nil pointer')
    if (isMap(value)) current = member(value, unbox(each))
    else if (Array.isArray(value) || typeof value === 'string') current = element(value, unbox(each))
    else throw new Error(`can't index item of type ${typeOf(value)}`)
  }
  return current
}

function member(map: Extract<GoValue, { [key: string]: unknown }>, key: GoValue): TemplateValue {
  if (key === undefined) throw new Error('value is nil; should be of type string')
  if (typeof key !== 'string') throw new Error(`value has type ${typeOf(key)}; should be string`)
  return new Boxed((isMap(map) && Object.hasOwn(map, key) ? map[key] : null) ?? null)
}

function element(list: readonly GoValue[] | string, position: TemplateValue): TemplateValue {
  const items = typeof list === 'string' ? bytesOfText(list) : list
  const at = indexArgument(position, items.length)
  const kind = typeof list === 'string' ? 'string' : 'slice'
  if (at === items.length) throw new Error(`reflect: ${kind} index out of range`)
  const item = items[at]
  return typeof list === 'string' ? new GoNumber('uint8', Number(item)) : new Boxed((item ?? null) as never)
}

function indexArgument(value: TemplateValue, most: number): number {
  const at = toInteger(value)
  if (value === undefined) throw new Error('cannot index slice/array with nil')
  if (at === undefined)
    throw new Error(
      `cannot index slice/array with type ${value instanceof Boxed ? 'interface {}' : typeOf(value)}`,
    )
  if (at < 0n || at > most) throw new Error(`index out of range: ${at}`)
  return Number(at)
}

function slice([item, ...indexes]: readonly TemplateValue[]): TemplateValue {
  const value = unbox(item)
  if (value === undefined) throw new Error('slice of untyped nil')
  if (indexes.length > 3) throw new Error(`too many slice indexes: ${indexes.length}`)
  if (typeof value !== 'string' && !Array.isArray(value)) {
    throw new Error(`can't slice item of type ${typeOf(value)}`)
  }
  if (typeof value === 'string' && indexes.length === 3) throw new Error('cannot 3-index slice a string')
  const items = typeof value === 'string' ? bytesOfText(value) : value
  const bounds = indexes.map(each => indexArgument(each, items.length))
  const [start = 0, end = items.length, capacity = items.length] = bounds
  if (start > end) throw new Error(`invalid slice index: ${start} > ${end}`)
  if (end > capacity) throw new Error(`invalid slice index: ${end} > ${capacity}`)
  return Array.isArray(items) ? items.slice(start, end) : textOfBytes(items.slice(start, end))
}

/** True if `index` with the same arguments would find a value. */
function exists([item, ...indexes]: readonly TemplateValue[]): TemplateValue {
  if (indexes.length === 0) return true
  let current = item
  for (const each of indexes) {
    const value = unbox(current)
    const position = unbox(each)
    if (typeof value === 'string' || Array.isArray(value)) {
      const at = toInteger(position)
      const items = typeof value === 'string' ? bytesOfText(value) : value
      if (at === undefined || at < 0n || at >= items.length) return false
      current = element(value, position)
    } else if (isMap(value) && typeof (position ?? '') === 'string') current = member(value, position ?? '')
    else return false
  }
  return !isNil(current)
}
