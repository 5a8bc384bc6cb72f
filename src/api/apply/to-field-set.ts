/** The field set of a value: the fields that applying it takes ownership of. */
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

/** Contains every leaf, every item of a list or map, and every empty field. Throws TypedValueError. */
export function toFieldSet(schema: Schema, value: JsonValue, depth = 0): FieldSet {
  checkDepth(depth)
  const map = asMap(value)
  if (map !== undefined && isGranularMap(schema)) return fieldsOfMap(schema, map, depth)
  const list = asList(value)
  if (list !== undefined && isGranularList(schema)) return fieldsOfList(schema, list, depth)
  return emptySet
}

function fieldsOfMap(schema: Schema, map: JsonObject, depth: number): FieldSet {
  const builder = new FieldSetBuilder()
  for (const [key, value] of Object.entries(map)) {
    if (value === undefined) continue
    const child = childSchema(schema, key)
    const member = !isDeclared(schema, key) || isOwnedWhole(child, value)
    builder.add(fieldElement(key), member, toFieldSet(child, value, depth + 1))
  }
  return builder.build()
}

/** True for a leaf, null or an empty object: the value has no descendants that could be owned instead. */
function isOwnedWhole(schema: Schema, value: JsonValue): boolean {
  const map = asMap(value)
  if (map !== undefined && isGranularMap(schema)) return Object.keys(map).length === 0
  return asList(value) === undefined || !isGranularList(schema)
}

/** List items with duplicate keys are owned together as a whole. */
function fieldsOfList(schema: ListSchema, list: readonly JsonValue[], depth: number): FieldSet {
  const elements = itemElements(schema, list)
  const counts = new Map<PathElement, number>()
  for (const element of elements) counts.set(element, (counts.get(element) ?? 0) + 1)
  const builder = new FieldSetBuilder()
  for (const [index, element] of elements.entries()) {
    const unique = counts.get(element) === 1
    builder.add(element, true, unique ? toFieldSet(schema.items, list[index] ?? null, depth + 1) : emptySet)
  }
  return builder.build()
}
