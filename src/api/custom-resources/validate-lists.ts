/** Items of `x-kubernetes-list-type` set and map lists must be unique. */
import { duplicate, type FieldError } from '../field-error.ts'
import type { JSONSchemaProps } from '../generated/apiextensions/v1.ts'
import { canonicalJson } from '../text/canonical-json.ts'
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
  readonly key: unknown
  readonly shown: JsonValue
}

function keyFinder(schema: JSONSchemaProps): ((item: JsonValue) => ItemKey) | undefined {
  const type = schema['x-kubernetes-list-type']
  if (type === 'set') return item => ({ key: valueKey(item), shown: item })
  if (type !== 'map') return undefined
  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  return item => {
    if (!isObject(item)) return { key: valueKey(item), shown: item }
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
  const seen = new Set<unknown>()
  return items.flatMap((item, index) => {
    const { key, shown } = findKey(item)
    const isRepeated = seen.has(key)
    seen.add(key)
    return isRepeated ? [duplicate(`${path}[${index}]`, shown)] : []
  })
}

/** Most items are strings: those that cannot be confused with the JSON of other values are keys themselves. */
function valueKey(item: JsonValue): unknown {
  if (typeof item === 'string') return /^["[{]/.test(item) ? JSON.stringify(item) : item
  if (typeof item === 'bigint') return Number(item)
  return typeof item === 'object' && item !== null ? canonicalJson(item) : item
}
