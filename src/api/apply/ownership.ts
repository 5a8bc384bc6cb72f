/**
 * Computes field ownership after a write. The fields of each manager are stored in the version it wrote, so a
 * change is compared in each of these versions; entries in a version that is no longer served are dropped.
 */
import type { Schema } from '../schema.ts'
import { compareValues, isSame, type Comparison } from './compare-values.ts'
import type { ConflictingFields } from './conflict.ts'
import { difference, emptySet, fieldSet, intersection, isEmpty, union, type FieldSet } from './field-set.ts'
import { toFieldSet } from './to-field-set.ts'
import type { ManagedEntries, ManagedEntry } from './managed-fields.ts'
import { fieldPath } from './path-element.ts'
import { removeItems } from './select-items.ts'
import { reconcileFieldSetWithSchema, ensureNamedFieldsAreMembers } from './reconcile-field-set.ts'
import type { ResetFields } from './reset-fields.ts'
import { asMap, type JsonObject } from './structure.ts'

export interface VersionedObject {
  readonly object: JsonObject
  readonly schema: Schema
}

/**
 * Converts an object from the version in its `apiVersion` to another version; undefined if that version is
 * not served.
 */
export type Convert = (object: JsonObject, apiVersion: string) => VersionedObject | undefined

export interface OwnershipContext {
  /** Version of the request and of its objects. */
  readonly apiVersion: string
  readonly schema: Schema
  readonly convert?: Convert | undefined
  readonly resetFields?: ResetFields | undefined
}

/** The change made by a write, in the version of the request. */
export interface ObjectChange {
  readonly before: JsonObject
  readonly after: JsonObject
  readonly comparison: Comparison
}

interface OwnershipUpdate {
  readonly entries: ManagedEntries
  readonly change: ObjectChange
  /** Identity of the entry of the manager that writes; it keeps its fields. */
  readonly self: string
}

export interface OwnershipResult {
  readonly entries: Map<string, ManagedEntry>
  readonly conflicting: readonly ConflictingFields[]
}

/** Fields that identify an object or are set by the system; they have no owner. */
const ignoredFields = fieldSet([
  fieldPath('apiVersion'),
  fieldPath('kind'),
  fieldPath('metadata'),
  ...[
    'name',
    'namespace',
    'creationTimestamp',
    'selfLink',
    'uid',
    'clusterName',
    'generation',
    'managedFields',
    'resourceVersion',
  ].map(name => fieldPath('metadata', name)),
])

/** The fields, in the version of the request, that its manager can own. */
export function withoutIgnoredFields(context: OwnershipContext, fields: FieldSet): FieldSet {
  return difference(resetIn(context, fields, context.apiVersion), ignoredFields)
}

export function changed({ added, modified }: Comparison): FieldSet {
  return union(added, modified)
}

export function compareObjects(
  context: OwnershipContext,
  before: JsonObject,
  after: JsonObject,
): ObjectChange {
  return { before, after, comparison: compareValues(context.schema, before, after) }
}

/**
 * Removes changed and deleted fields from the entries of all other managers. Entries without fields are
 * dropped.
 */
export function updateOwnership(
  context: OwnershipContext,
  { entries, change, self }: OwnershipUpdate,
): OwnershipResult {
  if (isSame(change.comparison)) return { entries: new Map(entries), conflicting: [] }
  const inVersion = comparisonsByVersion(context, change)
  const updated = new Map<string, ManagedEntry>()
  const conflicting: ConflictingFields[] = []
  for (const [identity, entry] of entries) {
    const version = inVersion(entry.apiVersion)
    if (version === undefined) continue
    const owned = reconcileFieldSetWithSchema(version.schema, entry.fields)
    if (identity === self) {
      updated.set(identity, withFields(entry, owned))
      continue
    }
    const taken = intersection(owned, version.changed)
    if (!isEmpty(taken)) conflicting.push({ owner: entry, fields: taken })
    const kept = difference(difference(owned, taken), version.removed)
    if (!isEmpty(kept)) updated.set(identity, withFields(entry, kept))
  }
  return { entries: updated, conflicting }
}

export function withFields(entry: ManagedEntry, fields: FieldSet): ManagedEntry {
  return entry.fields === fields ? entry : { ...entry, fields }
}

interface PruneOptions {
  readonly merged: JsonObject
  readonly entries: ManagedEntries
  /** Entry of the manager from its previous apply. */
  readonly last: ManagedEntry
}

/** Removes fields that the manager applied before and no longer applies, unless another entry owns them. */
export function prune(context: OwnershipContext, { merged, entries, last }: PruneOptions): JsonObject {
  const start = objectIn(context, merged, last.apiVersion)
  if (start === undefined) return merged
  const owned = ownedByVersion(entries)
  const applied = ensureNamedFieldsAreMembers(
    start.schema,
    reconcileFieldSetWithSchema(start.schema, last.fields),
  )
  const kept = ensureNamedFieldsAreMembers(
    start.schema,
    union(owned.get(last.apiVersion) ?? emptySet, ignoredFields),
  )
  let pruned = without(start, difference(applied, kept))
  if (pruned === start.object) return merged
  owned.delete(last.apiVersion)
  for (const [apiVersion, fields] of owned) {
    const whole = objectIn(context, merged, apiVersion)
    const part = objectIn(context, pruned, apiVersion)
    if (whole === undefined || part === undefined) continue
    const restored = restoreOwned(whole, part, fields)
    pruned = objectIn(context, restored, last.apiVersion)?.object ?? pruned
  }
  return objectIn(context, pruned, context.apiVersion)?.object ?? merged
}

function restoreOwned(whole: VersionedObject, part: VersionedObject, owned: FieldSet): JsonObject {
  const { schema } = whole
  const there = ensureNamedFieldsAreMembers(schema, toFieldSet(schema, whole.object))
  const left = ensureNamedFieldsAreMembers(schema, toFieldSet(schema, part.object))
  return without(whole, difference(there, union(left, ensureNamedFieldsAreMembers(schema, owned))))
}

function without({ object, schema }: VersionedObject, fields: FieldSet): JsonObject {
  return asMap(removeItems(schema, object, fields)) ?? {}
}

function ownedByVersion(entries: ManagedEntries): Map<string, FieldSet> {
  const owned = new Map<string, FieldSet>()
  for (const { apiVersion, fields } of entries.values()) {
    owned.set(apiVersion, union(owned.get(apiVersion) ?? emptySet, fields))
  }
  return owned
}

/** An object without `apiVersion` has the version of the request. */
function objectIn(
  context: OwnershipContext,
  object: JsonObject,
  apiVersion: string,
): VersionedObject | undefined {
  const from = object['apiVersion'] ?? context.apiVersion
  if (from !== apiVersion) return context.convert?.(object, apiVersion)
  if (apiVersion === context.apiVersion) return { object, schema: context.schema }
  const converted = context.convert?.(object, apiVersion)
  return converted && { object, schema: converted.schema }
}

interface VersionChange {
  readonly schema: Schema
  readonly changed: FieldSet
  readonly removed: FieldSet
}

function comparisonsByVersion(
  context: OwnershipContext,
  change: ObjectChange,
): (apiVersion: string) => VersionChange | undefined {
  const known = new Map<string, VersionChange | undefined>()
  return apiVersion => {
    if (!known.has(apiVersion)) known.set(apiVersion, changeIn(context, change, apiVersion))
    return known.get(apiVersion)
  }
}

function changeIn(
  context: OwnershipContext,
  change: ObjectChange,
  apiVersion: string,
): VersionChange | undefined {
  if (apiVersion === context.apiVersion) {
    return resetChange(context, apiVersion, { comparison: change.comparison, schema: context.schema })
  }
  const before = objectIn(context, change.before, apiVersion)
  const after = objectIn(context, change.after, apiVersion)
  if (before === undefined || after === undefined) return undefined
  const comparison = compareValues(after.schema, before.object, after.object)
  return resetChange(context, apiVersion, { comparison, schema: after.schema })
}

function resetChange(
  context: OwnershipContext,
  apiVersion: string,
  { comparison, schema }: { readonly comparison: Comparison; readonly schema: Schema },
): VersionChange {
  return {
    schema,
    changed: resetIn(context, changed(comparison), apiVersion),
    removed: resetIn(context, comparison.removed, apiVersion),
  }
}

function resetIn(context: OwnershipContext, fields: FieldSet, apiVersion: string): FieldSet {
  return context.resetFields === undefined ? fields : context.resetFields(fields, apiVersion)
}
