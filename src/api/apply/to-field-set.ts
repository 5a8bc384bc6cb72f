/** The field set of a value: the fields that applying or adding it takes ownership of. */
import type { JsonValue } from '../text/json-value.ts'
import type { ListSchema, Schema } from '../schema.ts'
import { emptySet, FieldSetBuilder, type FieldSet } from './field-set.ts'
import { fieldElement, type PathElement } from './path-element.ts'
import {
  asList,
  asMap,
  checkDepth,
  childSchema,
  isDeclared,
  isGranularList,
  isGranularMap,
  itemElements,
  type JsonObject,
} from './structure.ts'

/** The field set of a value at a depth. Throws TypedValueError. */
type ToFieldSet = (schema: Schema, value: JsonValue, depth?: number) => FieldSet

/** Contains every leaf, every item of a list or map, and every empty field. */
export const toFieldSet: ToFieldSet = fieldSetsOf((schema, key, value) => {
  return !isDeclared(schema, key) || isOwnedWhole(childSchema(schema, key), value)
})

/** Contains every path within the value: the changes if the whole value is added or removed. */
export const toWholeFieldSet: ToFieldSet = fieldSetsOf(() => true)

/** Items of lists are always members. */
function fieldSetsOf(isMember: (schema: Schema, key: string, value: JsonValue) => boolean): ToFieldSet {
  const fieldsOf = (schema: Schema, value: JsonValue, depth = 0): FieldSet => {
    checkDepth(depth)
    if (typeof value !== 'object') return emptySet
    const map = asMap(value)
    if (map !== undefined && isGranularMap(schema)) return fieldsOfMap(schema, map, depth)
    const list = asList(value)
    if (list !== undefined && isGranularList(schema)) return fieldsOfList(schema, list, depth)
    return emptySet
  }

  const fieldsOfMap = (schema: Schema, map: JsonObject, depth: number): FieldSet => {
    const builder = new FieldSetBuilder()
    for (const key of Object.keys(map)) {
      const value = map[key]
      if (value === undefined) continue
      const children = fieldsOf(childSchema(schema, key), value, depth + 1)
      builder.add(fieldElement(key), isMember(schema, key, value), children)
    }
    return builder.build()
  }

  /** List items with duplicate keys are owned together as a whole. */
  const fieldsOfList = (schema: ListSchema, list: readonly JsonValue[], depth: number): FieldSet => {
    const elements = itemElements(schema, list)
    const repeated = new Set(elements).size === elements.length ? none : repeatedIn(elements)
    const builder = new FieldSetBuilder()
    for (const [index, element] of elements.entries()) {
      const isWhole = repeated.has(element)
      const children = isWhole ? emptySet : fieldsOf(schema.items, list[index] ?? null, depth + 1)
      builder.add(element, true, children)
    }
    return builder.build()
  }

  return fieldsOf
}

/** True for a leaf, null or an empty object: the value has no descendants that could be owned instead. */
function isOwnedWhole(schema: Schema, value: JsonValue): boolean {
  const map = asMap(value)
  if (map !== undefined && isGranularMap(schema)) return Object.keys(map).length === 0
  return asList(value) === undefined || !isGranularList(schema)
}

const none: ReadonlySet<PathElement> = new Set()

function repeatedIn(elements: readonly PathElement[]): ReadonlySet<PathElement> {
  const seen = new Set<PathElement>()
  const repeated = new Set<PathElement>()
  for (const element of elements) (seen.has(element) ? repeated : seen).add(element)
  return repeated
}
