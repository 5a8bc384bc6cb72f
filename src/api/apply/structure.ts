/**
 * The structure of a value as server-side apply sees it: which values are atomic, which are granular, and how
 * list items are identified. Without a known type, maps are granular and lists are atomic.
 */
import type { JsonValue } from '../text/json-value.ts'
import type { AnySchema, ListSchema, Schema } from '../schema.ts'
import { compareText, keyElement, valueElement, type PathElement, type Scalar } from './path-element.ts'

export type JsonObject = { [key: string]: JsonValue }

/** Maximum nesting depth: far more than any real object has, and safe for the stack. */
export const depthMax = 500

export interface TypedValueProblem {
  /** `.spec.containers[name="web"]`; empty for the object itself. */
  readonly path: string
  readonly message: string
}

/** Thrown for a value that does not match its schema. */
export class TypedValueError extends Error {
  readonly problems: readonly TypedValueProblem[]

  constructor(problems: readonly TypedValueProblem[]) {
    const texts = problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`))
    super(texts.length === 1 ? texts[0] : ['errors:', ...texts.map(text => `  ${text}`)].join('\n'))
    this.name = 'TypedValueError'
    this.problems = problems
  }
}

export const tooDeep: TypedValueProblem = {
  path: '',
  message: `the object is nested more than ${depthMax} levels deep`,
}

/** The reason that a list item has no path element. */
export interface ItemProblem {
  readonly problem: string
}

export const anySchema: AnySchema = { type: 'any' }

/** True if owned key by key. A value that is not an object is a leaf all the same. */
export function isGranularMap(schema: Schema): boolean {
  if (schema.type === 'struct' || schema.type === 'map') return !schema.atomic
  return schema.type === 'any' && schema.name?.endsWith('RawExtension') !== true
}

/** True if owned item by item. A value that is not a list is a leaf all the same. */
export function isGranularList(schema: Schema): schema is ListSchema {
  return schema.type === 'list' && schema.listType !== 'atomic'
}

/** The schema of a key's value in a map or struct schema. */
export function childSchema(schema: Schema, key: string): Schema {
  if (schema.type === 'struct') return schema.fields.get(key)?.schema ?? anySchema
  return schema.type === 'map' ? schema.values : anySchema
}

/**
 * True if the key is a declared struct field. Other keys are map items, which are added and removed like list
 * items.
 */
export function isDeclared(schema: Schema, key: string): boolean {
  return schema.type === 'struct' && schema.fields.has(key)
}

export function asMap(value: JsonValue | undefined): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
}

export function asList(value: JsonValue | undefined): JsonValue[] | undefined {
  return Array.isArray(value) ? value : undefined
}

/** Safe for any key, including `__proto__`. */
export function valueAt(map: JsonObject | undefined, key: string): JsonValue | undefined {
  return map !== undefined && Object.hasOwn(map, key) ? map[key] : undefined
}

/** Sets a key of an object under construction. Safe for any key, including `__proto__`. */
export function setValue(map: JsonObject, key: string, value: JsonValue): void {
  if (key !== '__proto__') map[key] = value
  else Object.defineProperty(map, key, { value, enumerable: true, configurable: true, writable: true })
}

export function checkDepth(depth: number): void {
  if (depth > depthMax) throw new TypedValueError([tooDeep])
}

/** The path element of an item in a list of type `set` or `map`. */
export function itemElement(schema: ListSchema, item: JsonValue): PathElement | ItemProblem {
  return schema.listType === 'map' ? keyedItemElement(schema, item) : setItemElement(item)
}

/** The path elements of all items, in list order. Throws TypedValueError. */
export function itemElements(schema: ListSchema, items: readonly JsonValue[]): PathElement[] {
  return items.map((item, index) => {
    const element = itemElement(schema, item)
    if (typeof element === 'string') return element
    throw new TypedValueError([{ path: '', message: `element ${index}: ${element.problem}` }])
  })
}

function setItemElement(item: JsonValue): PathElement | ItemProblem {
  if (Array.isArray(item)) return { problem: 'not supported: associative list with lists as elements' }
  if (typeof item !== 'object') return valueElement(item)
  const what = item === null ? 'an explicit null' : 'a map type'
  return { problem: `associative list without keys has an element that's ${what}` }
}

function keyedItemElement(schema: ListSchema, item: JsonValue): PathElement | ItemProblem {
  if (item === null) return { problem: 'associative list with keys may not have a null element' }
  const map = asMap(item)
  if (map === undefined) return { problem: 'associative list with keys may not have non-map elements' }
  const fields: [string, Scalar][] = []
  for (const { name, fallback } of keyFieldsOf(schema)) {
    const value = valueAt(map, name) ?? fallback
    if (value === undefined) continue
    if (typeof value === 'object' && value !== null) return { problem: `key field ${name} must be a scalar` }
    fields.push([name, value])
  }
  if (fields.length > 0) return keyElement(fields)
  const keys = `[${schema.keys.map(key => JSON.stringify(key)).join(' ')}]`
  const reason = "(and doesn't have default values for any key fields)"
  return { problem: `associative list with keys has an element that omits all key fields ${keys} ${reason}` }
}

interface KeyField {
  readonly name: string
  /** Default of the key field, assumed for items without it: `protocol: TCP` of a port. */
  readonly fallback: JsonValue | undefined
}

const keyFields = new WeakMap<ListSchema, readonly KeyField[]>()

function keyFieldsOf(schema: ListSchema): readonly KeyField[] {
  const known = keyFields.get(schema)
  if (known !== undefined) return known
  const { items } = schema
  const fields = [...schema.keys].sort(compareText).map((name): KeyField => {
    const fallback = items.type === 'struct' ? items.fields.get(name)?.default : undefined
    return { name, fallback: fallback as JsonValue | undefined }
  })
  keyFields.set(schema, fields)
  return fields
}
