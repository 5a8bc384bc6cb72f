/** Items of `x-kubernetes-list-type` set and map lists must be unique. */
import { duplicate, type FieldError } from '../field-error.ts'
import type { JSONSchemaProps } from '../generated/apiextensions/v1.ts'
import { isObject, type JsonObject } from '../text/json-object.ts'
import type { JsonValue } from '../text/json-value.ts'
import { listMapKey } from './correlate-items.ts'
import { compileWalk } from './walk-values.ts'

/** Undefined if the schema has no such lists. */
export function compileListCheck(
  schema: JSONSchemaProps,
): ((object: JsonObject) => FieldError[]) | undefined {
  const check = compileWalk(schema, nested => {
    const findKey = keyFinder(nested)
    return findKey && ((value, path) => (Array.isArray(value) ? findDuplicates(value, path, findKey) : []))
  })
  return check && (object => check(object, ''))
}

/** The identity of an item and the value that the error shows. */
interface ItemKey {
  readonly key: string
  readonly shown: JsonValue
}

function keyFinder(schema: JSONSchemaProps): ((item: JsonValue) => ItemKey) | undefined {
  const type = schema['x-kubernetes-list-type']
  if (type === 'set') return item => ({ key: canonicalText(item), shown: item })
  if (type !== 'map') return undefined
  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  return item => {
    if (!isObject(item)) return { key: canonicalText(item), shown: item }
    const shown = Object.fromEntries(
      keys.flatMap(key => (Object.hasOwn(item, key) ? [[key, item[key] as JsonValue]] : [])),
    )
    return { key: listMapKey(item, keys), shown }
  }
}

function findDuplicates(
  items: readonly JsonValue[],
  path: string,
  findKey: (item: JsonValue) => ItemKey,
): FieldError[] {
  const seen = new Set<string>()
  return items.flatMap((item, index) => {
    const { key, shown } = findKey(item)
    const isRepeated = seen.has(key)
    seen.add(key)
    return isRepeated ? [duplicate(`${path}[${index}]`, shown)] : []
  })
}

/** JSON with sorted keys, in which equal values are equal texts. */
function canonicalText(value: JsonValue): string {
  return JSON.stringify(value, (_key, each: unknown) => {
    if (typeof each === 'bigint') return Number(each)
    if (typeof each !== 'object' || each === null || Array.isArray(each)) return each
    return Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
  })
}
