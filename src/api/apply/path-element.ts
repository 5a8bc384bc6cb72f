/**
 * One element of a field path, in the notation of `fieldsV1`: `f:name` is a field, `k:{"name":"web"}` a list
 * item by its key fields, `v:"web"` a set item by its value, `i:0` an item by its index. The text is
 * canonical (sorted key fields, no spaces), so two elements are equal if and only if their texts are.
 */
import { compareInt64, parseInt64 } from '../text/int64.ts'
import type { JsonValue } from '../text/json-value.ts'
import { quote } from '../text/quote.ts'

export type PathElement = string
export type Path = readonly PathElement[]
export type Scalar = null | boolean | number | bigint | string

/** Thrown for an invalid path element or an invalid field set. */
export class FieldPathError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'FieldPathError'
  }
}

export function fieldElement(name: string): PathElement {
  return `f:${name}`
}

export function valueElement(value: Scalar): PathElement {
  return `v:${encodeScalar(value)}`
}

export function indexElement(index: number): PathElement {
  return `i:${index}`
}

/** `fields` must be sorted by name. */
export function keyElement(fields: readonly (readonly [string, Scalar])[]): PathElement {
  let text = 'k:{'
  for (const [name, value] of fields) {
    if (text.length > 3) text += ','
    text += `${JSON.stringify(name)}:${encodeScalar(value)}`
  }
  return `${text}}`
}

/** A path of field names: `fieldPath('spec', 'replicas')`. */
export function fieldPath(...names: readonly string[]): Path {
  return names.map(fieldElement)
}

/** The field name of an `f:` element; undefined for list items. */
export function fieldName(element: PathElement): string | undefined {
  return element.startsWith('f:') ? element.slice(2) : undefined
}

/** Undefined for an unknown element type, which a later release may define. */
export function parseElement(text: string): PathElement | undefined {
  if (text.length < 2) throw new FieldPathError(`key must be 2 characters long: ${quote(text)}`)
  if (text[1] !== ':') throw new FieldPathError(`missing colon: ${quote(text)}`)
  switch (text.charAt(0)) {
    case 'f':
      return text
    case 'k':
      return keyElement(parseKey(text))
    case 'v':
      return valueElement(scalarOf(parseJson(text), text))
    case 'i':
      return indexElement(parseIndex(text))
    default:
      return undefined
  }
}

/** `.name`, `[name="web"]`, `[="web"]`, `[0]`. */
export function printElement(element: PathElement): string {
  switch (element.charAt(0)) {
    case 'f':
      return `.${element.slice(2)}`
    case 'k':
      return `[${parseKey(element).map(printKeyField).join(',')}]`
    case 'v':
      return `[=${printScalar(scalarOf(parseJson(element), element))}]`
    default:
      return `[${element.slice(2)}]`
  }
}

/** `.spec.containers[name="web"].image`. */
export function printPath(path: Path): string {
  return path.map(printElement).join('')
}

/** Sorts as Kubernetes does: fields, keys, values, indexes, each by content. */
export function sortElements(elements: Iterable<PathElement>): PathElement[] {
  const list = [...elements]
  if (list.length < 2) return list
  if (list.every(element => element.startsWith('f:'))) return sortInPlace(list, compareText)
  // The elements of a long list would evict all others from the cache.
  const keyed = list.map(list.length > longListMin ? makeSortable : sortable)
  return sortInPlace(keyed, compareSortable).map(each => each.element)
}

const longListMin = 1_000

/** Up to this number of elements, an insertion sort is faster: the one of arrays allocates memory. */
const insertionSortMax = 10

function sortInPlace<T>(list: T[], compare: (a: T, b: T) => number): T[] {
  if (list.length > insertionSortMax) return list.sort(compare)
  for (let end = 1; end < list.length; end++) {
    const inserted = list[end]!
    let at = end
    for (; at > 0 && compare(list[at - 1]!, inserted) > 0; at--) list[at] = list[at - 1]!
    list[at] = inserted
  }
  return list
}

/**
 * Compares text by code point, as Go does; plain `<` compares UTF-16 code units, which sorts surrogate pairs
 * before U+E000 to U+FFFF.
 */
export function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let index = 0; index < length; index++) {
    const left = a.charCodeAt(index)
    const right = b.charCodeAt(index)
    if (left !== right) return inCodePointOrder(left) - inCodePointOrder(right)
  }
  return a.length - b.length
}

/**
 * Escapes the same characters as Go's JSON encoder (those that could end an HTML script element), so that
 * equal values have equal encodings.
 */
export function encodeText(text: string): string {
  if (plainText.test(text)) return `"${text}"`
  const encoded = JSON.stringify(text)
  if (!scriptCharacter.test(encoded)) return encoded
  return encoded.replaceAll(scriptCharacters, each => {
    return `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

/** Text that needs no escaping in JSON: most names. */
const plainText = /^[\w ./:-]*$/
const scriptCharacter = /[<>&\u2028\u2029]/
const scriptCharacters = /[<>&\u2028\u2029]/g

function encodeScalar(value: Scalar): string {
  if (typeof value === 'string') return encodeText(value)
  return typeof value === 'bigint' ? value.toString() : JSON.stringify(value)
}

function printKeyField([name, value]: KeyField): string {
  return `${name}=${printScalar(value)}`
}

function printScalar(value: Scalar): string {
  return typeof value === 'string' ? quote(value) : String(value)
}

type KeyField = readonly [string, Scalar]

function parseKey(text: string): KeyField[] {
  const key = parseJson(text)
  if (typeof key !== 'object' || key === null || Array.isArray(key)) {
    throw new FieldPathError(`expected an object of key fields: ${quote(text)}`)
  }
  const fields = Object.entries(key).map(([name, value]): KeyField => [name, scalarOf(value, text)])
  if (fields.length === 0) throw new FieldPathError(`a key must have at least one field: ${quote(text)}`)
  return fields.sort(([a], [b]) => compareText(a, b))
}

function parseIndex(text: string): number {
  const index = parseInt64(text.slice(2))
  if (typeof index !== 'number' || index < 0) throw new FieldPathError(`invalid index: ${quote(text)}`)
  return index
}

/** Parses the JSON after the type and colon. Integers keep all their digits. */
function parseJson(text: string): JsonValue {
  try {
    return longNumber.test(text) ? JSON.parse(text.slice(2), withAllDigits) : JSON.parse(text.slice(2))
  } catch (error) {
    throw new FieldPathError(`invalid JSON in path element ${quote(text)}`, { cause: error })
  }
}

/**
 * Text that may contain a number too long for a double. Testing for it is faster than inspecting every value.
 */
const longNumber = /[0-9]{16}/

function withAllDigits(_key: string, value: JsonValue, context?: { source?: string }): JsonValue {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value
  return parseInt64(context?.source ?? '') ?? value
}

function scalarOf(value: JsonValue, text: string): Scalar {
  if (typeof value !== 'object' || value === null) return value
  throw new FieldPathError(`expected a scalar: ${quote(text)}`)
}

interface Sortable {
  readonly element: PathElement
  readonly rank: number
  /** The field name, or alternating key names and values. */
  readonly parts: readonly Scalar[]
}

const ranks = 'fkvi'
const valueRank = ranks.indexOf('v')

/**
 * Maximum number of cached sort keys; beyond it the cache is cleared. Most objects have the same few
 * elements.
 */
const sortablesMax = 10_000
/** Longer elements are not cached, to bound memory. */
const sortableCharactersMax = 200
const sortables = new Map<PathElement, Sortable>()

function sortable(element: PathElement): Sortable {
  if (isPlainValue(element)) return { element, rank: valueRank, parts: [element.slice(3, -1)] }
  const known = sortables.get(element)
  if (known !== undefined) return known
  const made = makeSortable(element)
  if (sortables.size >= sortablesMax) sortables.clear()
  if (element.length <= sortableCharactersMax) sortables.set(element, made)
  return made
}

function makeSortable(element: PathElement): Sortable {
  return { element, rank: ranks.indexOf(element.charAt(0)), parts: sortableParts(element) }
}

/** True for text in a set that needs no parsing, nor caching: most values of a set are in one object only. */
function isPlainValue(element: PathElement): boolean {
  return element.startsWith('v:"') && !element.includes('\\')
}

function sortableParts(element: PathElement): readonly Scalar[] {
  switch (element.charAt(0)) {
    case 'k': {
      const [, name, value] = plainKey.exec(element) ?? []
      return name === undefined || value === undefined ? parseKey(element).flat() : [name, value]
    }
    case 'v':
      return [scalarOf(parseJson(element), element)]
    case 'i':
      return [Number(element.slice(2))]
    default:
      return [element]
  }
}

/** A key of one field whose value is text that needs no parsing: most keys. */
const plainKey = /^k:\{"([\w.-]+)":"([^"\\]*)"\}$/

function compareSortable(a: Sortable, b: Sortable): number {
  if (a.rank !== b.rank) return a.rank - b.rank
  for (let index = 0; index < a.parts.length && index < b.parts.length; index++) {
    const order = compareScalars(a.parts[index] ?? null, b.parts[index] ?? null)
    if (order !== 0) return order
  }
  return a.parts.length - b.parts.length
}

function compareScalars(a: Scalar, b: Scalar): number {
  if (typeof a === 'string' && typeof b === 'string') return compareText(a, b)
  if (isNumber(a) && isNumber(b)) return compareInt64(a, b)
  const order = scalarRank(a) - scalarRank(b)
  return order === 0 ? Number(a) - Number(b) : order
}

function isNumber(value: Scalar): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint'
}

/** Numbers before strings, strings before booleans, null last. */
function scalarRank(value: Scalar): number {
  if (isNumber(value)) return 0
  if (typeof value === 'string') return 1
  return typeof value === 'boolean' ? 2 : 3
}

/** Maps surrogates behind all other code units, so that code units compare in code point order. */
function inCodePointOrder(unit: number): number {
  if (unit < 0xd800) return unit
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800
}
