/** Correlates items of a list with those of the stored list by `x-kubernetes-list-map-keys`. */
import type { JSONSchemaProps } from '../generated/apiextensions/v1.ts'
import { isObject, type JsonObject } from '../text/json-object.ts'
import type { JsonValue } from '../text/json-value.ts'

/**
 * Returns the stored counterpart of the item at an index; always undefined for sets and atomic lists, whose
 * items have no identity.
 */
export function correlateItems(
  schema: JSONSchemaProps,
  items: readonly JsonValue[],
  old: JsonValue | undefined,
): (index: number) => JsonValue | undefined {
  if (schema['x-kubernetes-list-type'] !== 'map' || !Array.isArray(old)) return () => undefined
  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  const olds = new Map(old.filter(isObject).map(item => [listMapKey(item, keys), item]))
  return index => {
    const item = items[index]
    return isObject(item) ? olds.get(listMapKey(item, keys)) : undefined
  }
}

/** The identity of an item of a `map` list: JSON of its keys. */
export function listMapKey(item: JsonObject, keys: readonly string[]): string {
  let text = '['
  for (const key of keys) text += `${Object.hasOwn(item, key) ? showKey(item[key] ?? null) : null},`
  return text
}

function showKey(value: JsonValue): string {
  return JSON.stringify(typeof value === 'bigint' ? Number(value) : value)
}
