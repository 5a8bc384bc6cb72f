import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import { equalJson, type JsonValue } from '#/api/text/json-value.ts'
import { lastAppliedAnnotation } from '../resource/last-applied.ts'

/**
 * The managed fields of an object that was applied by the client before, with the fields of `updaters` moved
 * to the manager of server-side apply. Without this, fields that the configuration no longer has would stay.
 * Undefined if there is nothing to move.
 */
export function migrateManagedFields(
  entries: readonly JsonObject[],
  { updaters, applier }: { readonly updaters: readonly string[]; readonly applier: string },
): readonly JsonObject[] | undefined {
  let migrated = entries
  for (const updater of updaters) migrated = migrateUpdater(migrated, { updater, applier })
  return equalJson(migrated, entries) ? undefined : migrated
}

function migrateUpdater(
  entries: readonly JsonObject[],
  { updater, applier }: { readonly updater: string; readonly applier: string },
): readonly JsonObject[] {
  const isUpdate = (entry: JsonObject): boolean => isEntryOf(entry, { manager: updater, operation: 'Update' })
  const applied = entries.findIndex(entry => isEntryOf(entry, { manager: applier, operation: 'Apply' }))
  const index = applied === -1 ? entries.findIndex(isUpdate) : applied
  if (index === -1) return entries
  const target = entries[index]!
  const source = entries.find(entry => isUpdate(entry) && entry['apiVersion'] === target['apiVersion'])
  const fields = source === undefined ? target['fieldsV1'] : union(target['fieldsV1'], source['fieldsV1'])
  const merged = {
    ...target,
    manager: applier,
    operation: 'Apply',
    ...(fields !== undefined && { fieldsV1: fields }),
  }
  return entries.with(index, merged).filter(entry => !isUpdate(entry))
}

function isEntryOf(
  entry: JsonObject,
  { manager, operation }: { readonly manager: string; readonly operation: string },
): boolean {
  return entry['manager'] === manager && entry['operation'] === operation && !entry['subresource']
}

/** The depth of a parsed object is bounded. */
function union(a: JsonValue | undefined, b: JsonValue | undefined): JsonValue | undefined {
  if (!isObject(a) || !isObject(b)) return a ?? b
  const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])]
  return Object.fromEntries(keys.map(key => [key, union(a[key], b[key]) ?? {}]))
}

/** Managers that set the annotation of client-side apply. */
export function lastAppliedOwners(
  entries: readonly JsonObject[],
  operation: 'Apply' | 'Update',
): readonly string[] {
  const owners = entries.filter(entry => entry['operation'] === operation && hasAnnotation(entry))
  return [...new Set(owners.map(({ manager }) => (typeof manager === 'string' ? manager : '')))]
}

function hasAnnotation({ fieldsV1 }: JsonObject): boolean {
  let at: JsonValue | undefined = fieldsV1
  for (const field of ['f:metadata', 'f:annotations', `f:${lastAppliedAnnotation}`]) {
    if (!isObject(at)) return false
    at = at[field]
  }
  return at !== undefined
}

export function managedFieldsOf({ metadata }: JsonObject): readonly JsonObject[] {
  const entries = isObject(metadata) ? metadata['managedFields'] : undefined
  return Array.isArray(entries) ? entries.filter(isObject) : []
}
