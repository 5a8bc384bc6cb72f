import { get, isObject, type JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'

export function managedFieldsOf({ metadata }: JsonObject): readonly JsonObject[] {
  const entries = isObject(metadata) ? metadata['managedFields'] : undefined
  return Array.isArray(entries) ? entries.filter(isObject) : []
}

/** The fields of all managers together, apart from those of subresources. */
export function allFields(entries: readonly JsonObject[]): JsonObject {
  return entries.filter(isOfObject).reduce((all, entry) => union(all, fieldsOf(entry)), {})
}

export interface FieldOwner {
  readonly manager: string
  readonly apiVersion: string
  /** As in `metadata` timestamps. */
  readonly time: string
}

/** The fields that the manager has applied. */
export function appliedFields(entries: readonly JsonObject[], manager: string): JsonObject | undefined {
  const entry = entries.find(each => isAppliedBy(each, manager))
  return entry && fieldsOf(entry)
}

/** The managed fields with the removed ones owned by the manager alone: its next apply removes them. */
export function transferFields(
  entries: readonly JsonObject[],
  removed: JsonObject,
  { manager, apiVersion, time }: FieldOwner,
): readonly JsonObject[] {
  const others = entries
    .filter(entry => !isAppliedBy(entry, manager))
    .map(entry => (isOfObject(entry) ? { ...entry, fieldsV1: difference(fieldsOf(entry), removed) } : entry))
    .filter(entry => Object.keys(fieldsOf(entry)).length > 0)
  const fieldsV1 = union(appliedFields(entries, manager) ?? {}, removed)
  return [...others, { manager, operation: 'Apply', apiVersion, time, fieldsType: 'FieldsV1', fieldsV1 }]
}

function isOfObject({ subresource = '' }: JsonObject): boolean {
  return subresource === ''
}

function isAppliedBy(entry: JsonObject, manager: string): boolean {
  return entry['manager'] === manager && entry['operation'] === 'Apply' && isOfObject(entry)
}

function fieldsOf(entry: JsonObject): JsonObject {
  const fields = entry['fieldsV1']
  return isObject(fields) ? fields : {}
}

function union(a: JsonObject, b: JsonObject): JsonObject {
  const merged: [string, JsonValue][] = Object.keys(a).map(key => [key, unionMember(a, b, key)])
  const added = Object.entries(b).filter(([key]) => !Object.hasOwn(a, key))
  return Object.fromEntries([...merged, ...added])
}

function unionMember(a: JsonObject, b: JsonObject, key: string): JsonValue {
  return union(objectIn(a, key), objectIn(b, key))
}

/** Without the removed fields and what is below them. */
function difference(fields: JsonObject, removed: JsonObject): JsonObject {
  const kept = Object.entries(fields).flatMap(([key, value]): [string, JsonValue][] => {
    const gone = get(removed, key)
    if (!isObject(gone) || !isObject(value)) return [[key, value]]
    if (Object.keys(gone).length === 0 || Object.hasOwn(gone, '.')) return []
    const rest = difference(value, gone)
    return Object.keys(rest).length === 0 ? [] : [[key, rest]]
  })
  return Object.fromEntries(kept)
}

function objectIn(fields: JsonObject, key: string): JsonObject {
  const value = get(fields, key)
  return isObject(value) ? value : {}
}
