/**
 * Removes the items of a field set from a value, or extracts them. Unchanged parts are shared, not copied.
 */
import type { JsonValue } from '../text/json-value.ts'
import type { ListSchema, Schema } from '../schema.ts'
import { isEmpty, type FieldSet } from './field-set.ts'
import { fieldName } from './path-element.ts'
import {
  asList,
  asMap,
  checkDepth,
  childSchema,
  isGranularList,
  isGranularMap,
  itemElements,
  setValue,
  valueAt,
  type JsonObject,
} from './structure.ts'

/** The value without the items; undefined if nothing remains. Throws TypedValueError. */
export function removeItems(
  schema: Schema,
  value: JsonValue,
  items: FieldSet,
  depth = 0,
): JsonValue | undefined {
  checkDepth(depth)
  if (isEmpty(items)) return value
  const map = asMap(value)
  if (map !== undefined && isGranularMap(schema)) return removeFromMap(schema, map, items, depth)
  const list = asList(value)
  if (list !== undefined && isGranularList(schema)) return removeFromList(schema, list, items, depth)
  return value
}

/**
 * Only the items, with the key fields of the lists that contain them; undefined if there are none. An item
 * without children in the set is extracted as a whole. Throws TypedValueError.
 */
export function extractItems(
  schema: Schema,
  value: JsonValue,
  items: FieldSet,
  depth = 0,
): JsonValue | undefined {
  checkDepth(depth)
  const map = asMap(value)
  if (map !== undefined && isGranularMap(schema)) return extractFromMap(schema, map, items, depth)
  const list = asList(value)
  if (list !== undefined && isGranularList(schema)) return extractFromList(schema, list, items, depth)
  return value
}

function removeFromMap(
  schema: Schema,
  map: JsonObject,
  items: FieldSet,
  depth: number,
): JsonObject | undefined {
  let rest: JsonObject | undefined
  for (const [element, node] of items.nodes) {
    const key = fieldName(element)
    const child = key === undefined ? undefined : valueAt(map, key)
    if (key === undefined || child === undefined) continue
    const below = childSchema(schema, key)
    const left = node.member ? undefined : removeItems(below, child, node.children, depth + 1)
    if (left === child) continue
    rest ??= { ...map }
    if (left === undefined) delete rest[key]
    else setValue(rest, key, left)
  }
  if (rest === undefined) return map
  return Object.keys(rest).length === 0 ? undefined : rest
}

function removeFromList(
  schema: ListSchema,
  list: JsonValue[],
  items: FieldSet,
  depth: number,
): JsonValue[] | undefined {
  const elements = itemElements(schema, list)
  const rest: JsonValue[] = []
  let same = true
  for (const [index, item] of list.entries()) {
    const node = items.nodes.get(elements[index] ?? '')
    if (node === undefined) {
      rest.push(item)
      continue
    }
    const left = node.member ? undefined : removeItems(schema.items, item, node.children, depth + 1)
    if (left !== item) same = false
    if (left !== undefined) rest.push(left)
  }
  if (same) return list
  return rest.length === 0 ? undefined : rest
}

function extractFromMap(
  schema: Schema,
  map: JsonObject,
  items: FieldSet,
  depth: number,
): JsonObject | undefined {
  const taken: JsonObject = {}
  for (const [key, child] of Object.entries(map)) {
    const node = items.nodes.get(`f:${key}`)
    if (node === undefined || child === undefined) continue
    const part = isEmpty(node.children)
      ? child
      : extractItems(childSchema(schema, key), child, node.children, depth + 1)
    if (part !== undefined) setValue(taken, key, part)
  }
  return Object.keys(taken).length === 0 ? undefined : taken
}

function extractFromList(
  schema: ListSchema,
  list: JsonValue[],
  items: FieldSet,
  depth: number,
): JsonValue[] | undefined {
  const elements = itemElements(schema, list)
  const taken: JsonValue[] = []
  for (const [index, item] of list.entries()) {
    const node = items.nodes.get(elements[index] ?? '')
    if (node === undefined) continue
    const part = isEmpty(node.children) ? item : extractItems(schema.items, item, node.children, depth + 1)
    const keyed = withKeys(schema, item, part)
    if (keyed !== undefined) taken.push(keyed)
  }
  return taken.length === 0 ? undefined : taken
}

function withKeys(schema: ListSchema, item: JsonValue, part: JsonValue | undefined): JsonValue | undefined {
  const whole = asMap(item)
  if (schema.listType !== 'map' || whole === undefined || part === item) return part
  const keyed: JsonObject = {}
  for (const key of schema.keys) {
    const value = valueAt(whole, key)
    if (value !== undefined) setValue(keyed, key, value)
  }
  return { ...keyed, ...asMap(part) }
}
