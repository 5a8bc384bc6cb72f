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
export function removeItems(schema: Schema, value: JsonValue, items: FieldSet): JsonValue | undefined {
  return remove(schema, { value, items, depth: 0 })
}

/**
 * Only the items, with the key fields of the lists that contain them; undefined if there are none. An item
 * without children in the set is extracted as a whole. Throws TypedValueError.
 */
export function extractItems(schema: Schema, value: JsonValue, items: FieldSet): JsonValue | undefined {
  return extract(schema, { value, items, depth: 0 })
}

interface Selection<T = JsonValue> {
  readonly value: T
  readonly items: FieldSet
  readonly depth: number
}

function remove(schema: Schema, { value, items, depth }: Selection): JsonValue | undefined {
  checkDepth(depth)
  if (isEmpty(items)) return value
  const map = asMap(value)
  if (map !== undefined && isGranularMap(schema)) return removeFromMap(schema, { value: map, items, depth })
  const list = asList(value)
  if (list !== undefined && isGranularList(schema))
    return removeFromList(schema, { value: list, items, depth })
  return value
}

function extract(schema: Schema, { value, items, depth }: Selection): JsonValue | undefined {
  checkDepth(depth)
  const map = asMap(value)
  if (map !== undefined && isGranularMap(schema)) return extractFromMap(schema, { value: map, items, depth })
  const list = asList(value)
  if (list !== undefined && isGranularList(schema))
    return extractFromList(schema, { value: list, items, depth })
  return value
}

function removeFromMap(schema: Schema, selection: Selection<JsonObject>): JsonObject | undefined {
  const { value: map, items, depth } = selection
  let rest: JsonObject | undefined
  for (const [element, node] of items.nodes) {
    const key = fieldName(element)
    const child = key === undefined ? undefined : valueAt(map, key)
    if (key === undefined || child === undefined) continue
    const below = childSchema(schema, key)
    const left = node.member
      ? undefined
      : remove(below, { value: child, items: node.children, depth: depth + 1 })
    if (left === child) continue
    rest ??= { ...map }
    if (left === undefined) delete rest[key]
    else setValue(rest, key, left)
  }
  if (rest === undefined) return map
  return Object.keys(rest).length === 0 ? undefined : rest
}

function removeFromList(schema: ListSchema, selection: Selection<JsonValue[]>): JsonValue[] | undefined {
  const { value: list, items, depth } = selection
  const elements = itemElements(schema, list)
  const rest: JsonValue[] = []
  let same = true
  for (const [index, item] of list.entries()) {
    const node = items.nodes.get(elements[index] ?? '')
    if (node === undefined) {
      rest.push(item)
      continue
    }
    const left = node.member
      ? undefined
      : remove(schema.items, { value: item, items: node.children, depth: depth + 1 })
    if (left !== item) same = false
    if (left !== undefined) rest.push(left)
  }
  if (same) return list
  return rest.length === 0 ? undefined : rest
}

function extractFromMap(schema: Schema, selection: Selection<JsonObject>): JsonObject | undefined {
  const { value: map, items, depth } = selection
  const taken: JsonObject = {}
  for (const [key, child] of Object.entries(map)) {
    const node = items.nodes.get(`f:${key}`)
    if (node === undefined || child === undefined) continue
    const part = isEmpty(node.children)
      ? child
      : extract(childSchema(schema, key), { value: child, items: node.children, depth: depth + 1 })
    if (part !== undefined) setValue(taken, key, part)
  }
  return Object.keys(taken).length === 0 ? undefined : taken
}

function extractFromList(schema: ListSchema, selection: Selection<JsonValue[]>): JsonValue[] | undefined {
  const { value: list, items, depth } = selection
  const elements = itemElements(schema, list)
  const taken: JsonValue[] = []
  for (const [index, item] of list.entries()) {
    const node = items.nodes.get(elements[index] ?? '')
    if (node === undefined) continue
    const part = isEmpty(node.children)
      ? item
      : extract(schema.items, { value: item, items: node.children, depth: depth + 1 })
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
