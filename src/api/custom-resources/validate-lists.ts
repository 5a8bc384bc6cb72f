/** Items of `x-kubernetes-list-type` set and map lists must be unique. */
import { duplicate, invalid, type FieldError } from '../field-error.ts'
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
    const identity = identityOf(nested)
    return identity && ((value, path) => (Array.isArray(value) ? findDuplicates(value, path, identity) : []))
  })
  return check && (object => check(object, ''))
}

interface ItemIdentity {
  /** An error of items that cannot have an identity. */
  readonly refuse?: (item: JsonValue, path: string) => FieldError | undefined
  readonly keyOf: (item: JsonValue) => unknown
  /** The value that an error shows. */
  readonly shownOf: (item: JsonValue) => JsonValue
}

function identityOf(schema: JSONSchemaProps): ItemIdentity | undefined {
  const type = schema['x-kubernetes-list-type']
  if (type === 'set') return { keyOf: valueKey, shownOf: item => item }
  if (type !== 'map') return undefined
  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  return {
    refuse: (item, path) =>
      isObject(item) || item === null
        ? undefined
        : invalid(path, item, 'must be an object for an array of list-type map'),
    keyOf: item => (isObject(item) ? listMapKey(item, keys) : valueKey(item)),
    shownOf: item => (isObject(item) ? keyFields(item, keys) : item),
  }
}

function keyFields(item: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(
    keys.flatMap(key => (Object.hasOwn(item, key) ? [[key, item[key] as JsonValue]] : [])),
  )
}

function findDuplicates(
  items: readonly JsonValue[],
  path: string,
  { keyOf, shownOf, refuse }: ItemIdentity,
): FieldError[] {
  const refused = refuse ? items.flatMap((item, index) => refuse(item, `${path}[${index}]`) ?? []) : noErrors
  if (refused.length > 0) return [...refused]
  const keys = items.map(keyOf)
  if (areUnique(keys)) return []
  const seen = new Set<unknown>()
  return items.flatMap((item, index) => {
    const isRepeated = seen.has(keys[index])
    seen.add(keys[index])
    return isRepeated ? [duplicate(`${path}[${index}]`, shownOf(item))] : []
  })
}

const noErrors: readonly FieldError[] = []

/** Up to this number of items, comparing all pairs is faster than hashing. */
const comparedItemsMax = 8

function areUnique(keys: readonly unknown[]): boolean {
  if (keys.length > comparedItemsMax) return new Set(keys).size === keys.length
  return keys.every((key, index) => keys.indexOf(key) === index)
}

/** Most items are strings: those that cannot be confused with the JSON of other values are keys themselves. */
function valueKey(item: JsonValue): unknown {
  if (typeof item === 'string') return `"[{`.includes(item.charAt(0)) ? JSON.stringify(item) : item
  if (typeof item === 'bigint') return Number(item)
  return typeof item === 'object' && item !== null ? canonicalJson(item) : item
}
