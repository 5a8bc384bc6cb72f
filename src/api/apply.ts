/**
 * Server-side apply and managed fields. `applyConfiguration` merges an applied configuration into the live
 * object and reports conflicts with other field managers; `trackUpdate` records the fields changed by any
 * other write. Both are pure functions on objects in the version of the request. Defaulting, validation and
 * storage are left to the caller; an applied object may still contain nulls, which decoding drops. See
 * https://kubernetes.io/docs/reference/using-api/server-side-apply/
 */
import { ApiError, badRequest } from './errors.ts'
import { equalJson, type JsonValue } from './text/json-value.ts'
import type { Schema } from './schema.ts'
import { isSame } from './apply/compare-values.ts'
import { listConflicts, type Conflict, type ConflictingFields } from './apply/conflict.ts'
import { contains, difference, emptySet, equals, isEmpty, union } from './apply/field-set.ts'
import { toFieldSet } from './apply/to-field-set.ts'
import { lastAppliedAnnotationManager, lastAppliedFields, withLastApplied } from './apply/last-applied.ts'
import {
  capUpdateEntries,
  decodeManagedFields,
  encodeManagedFields,
  identify,
  isResetManagedFields,
  managedFieldsOf,
  noEntries,
  withManagedFields,
  type ManagedEntries,
  type ManagedEntry,
  type ManagerIdentity,
} from './apply/managed-fields.ts'
import { mergeValues } from './apply/merge-values.ts'
import {
  changed,
  compareObjects,
  withoutIgnoredFields,
  prune,
  updateOwnership,
  withFields,
  type Convert,
} from './apply/ownership.ts'
import { FieldPathError } from './apply/path-element.ts'
import { emptyObject } from './apply/reconcile-field-set.ts'
import type { ResetFields } from './apply/reset-fields.ts'
import { asList, asMap, TypedValueError, type JsonObject } from './apply/structure.ts'
import { withAbsentFields } from './zero-fields.ts'
import { validateTypedValue } from './apply/validate-typed-value.ts'

export { conflictError, type Conflict } from './apply/conflict.ts'
export { fieldManagerOf, validateFieldManager } from './apply/field-manager.ts'
export { extractApplied } from './apply/extract-applied.ts'
export { excludeFields, type ResetFields } from './apply/reset-fields.ts'
export { managedFieldsFromScale, managedFieldsOfScale } from './apply/scale.ts'
export type { Convert } from './apply/ownership.ts'
export { type JsonObject } from './apply/structure.ts'

interface WriteOptions {
  /** Undefined when the object is being created. */
  readonly live: JsonObject | undefined
  readonly manager: string
  readonly schema: Schema
  /** Version of the request and of the objects passed in. */
  readonly apiVersion: string
  /** In the format of `metadata` timestamps: `2026-01-01T00:00:00Z`. */
  readonly now: string
  readonly subresource?: string
  readonly resetFields?: ResetFields | undefined
  /** If absent, every version other than that of the request is treated as no longer served. */
  readonly convert?: Convert
}

export interface ApplyOptions extends WriteOptions {
  readonly applied: JsonObject
  /** Takes ownership of conflicting fields instead of reporting conflicts. */
  readonly force: boolean
}

/** `object` is the live object itself (same reference) if applying changed nothing. */
export type ApplyOutcome =
  | { readonly object: JsonObject; readonly conflicts?: undefined }
  | { readonly object?: undefined; readonly conflicts: readonly Conflict[] }

/** Throws ApiError when the configuration cannot be applied to an object of this kind. */
export function applyConfiguration(options: ApplyOptions): ApplyOutcome {
  checkApplied(options)
  try {
    return apply(options)
  } catch (error) {
    if (error instanceof TypedValueError) {
      throw failure(`failed to create typed live object (${nameOf(options.live)}): ${error.message}`, error)
    }
    if (error instanceof FieldPathError) {
      throw failure(`failed to decode managed fields: ${error.message}`, error)
    }
    throw error
  }
}

export interface UpdateOptions extends WriteOptions {
  /** The object after defaulting. Changes that admission makes later are not tracked. */
  readonly updated: JsonObject
}

/**
 * Computes who owns the fields of the updated object: the manager owns the fields it changed, and other managers lose
 * them. An existing object without managed fields remains untracked until the first server-side apply. The result
 * encodes the managed fields and returns the object with them: for a large object both parts take long.
 */
export function trackUpdate(options: UpdateOptions): () => JsonObject {
  const { live, updated } = options
  const entries = entriesBeforeUpdate(options)
  if (entries.size === 0 && live !== undefined) return () => withManagedFields(updated, undefined)
  try {
    const tracked = track(options, entries)
    return () => withManagedFields(updated, encodeManagedFields(tracked))
  } catch (error) {
    // The write must not fail because ownership cannot be computed: the managed fields stay unchanged.
    if (error instanceof TypedValueError) return () => withManagedFields(updated, managedFieldsOf(live))
    throw error
  }
}

/**
 * Returns the live object itself if the updated object differs only in the timestamps of its managed fields.
 * Defaulting and admission may undo what an apply changed; such a write must not create a new
 * resourceVersion.
 */
export function ignoreManagedFieldsTimestamps(live: JsonObject, updated: JsonObject): JsonObject {
  if (live === updated) return live
  for (const key of Object.keys(updated)) {
    if (key !== 'metadata' && !equalJson(live[key], updated[key])) return updated
  }
  const before = asList(managedFieldsOf(live)) ?? []
  const after = asList(managedFieldsOf(updated)) ?? []
  if (before.length !== after.length) return updated
  if (!equalJson(before.map(withoutTime), after.map(withoutTime))) return updated
  return equalJson(withManagedFields(live, undefined), withManagedFields(updated, undefined)) ? live : updated
}

/** The decoding error for managed fields sent by a client; undefined if they are valid. */
export function managedFieldsError(managedFields: JsonValue | undefined): string | undefined {
  try {
    decodeManagedFields(managedFields)
    return undefined
  } catch (error) {
    if (error instanceof FieldPathError) return error.message
    throw error
  }
}

function withoutTime(entry: JsonValue): JsonObject {
  const { time: _, ...rest } = asMap(entry) ?? {}
  return rest
}

const firstApplyManager = 'before-first-apply'

function apply(options: ApplyOptions): ApplyOutcome {
  const { live, applied, schema, now } = options
  const before = withManagedFields(live ?? {}, undefined)
  const recorded = decodeManagedFields(managedFieldsOf(live))
  const isFirst = recorded.size === 0 && live !== undefined
  const entries = isFirst ? entriesBeforeFirstApply(options, before) : recorded
  const self = identityOf(options, 'Apply')
  const identity = identify(self)
  const last = entries.get(identity)
  const own = withoutIgnoredFields(options, toFieldSet(schema, applied))
  const claim = { ...self, fields: own, time: last?.time }
  const claimed = replace(entries, identity, isEmpty(own) ? undefined : claim)
  const merged = asMap(mergeValues(schema, before, applied)) ?? {}
  const after = last === undefined ? merged : prune(options, { merged, entries: claimed, last })
  const ownership = updateOwnership(options, {
    entries: claimed,
    change: compareObjects(options, before, after),
    self: identity,
  })
  const conflicts = options.force ? [] : unresolved(options, before, ownership.conflicting)
  if (conflicts.length > 0) return { conflicts }

  const isChanged = !equalJson(before, after)
  const object = options.manager === lastAppliedAnnotationManager ? withLastApplied(after, applied) : after
  const claimsSame = last?.apiVersion === self.apiVersion && equals(last.fields, own)
  // Claiming other fields without changing the object does not make the entry newer.
  const time = isChanged || live === undefined ? now : last?.time
  const entry = claimsSame && !isChanged ? last : { ...self, fields: own, time }
  const rest =
    object === after
      ? ownership.entries
      : loseRemoved(options, ownership.entries, { before: after, after: object })
  const updated = replace(rest, identity, isEmpty(own) ? undefined : entry)
  const owners = sameEntries(updated, recorded) ? recorded : updated
  if (live !== undefined && owners === recorded && equalJson(before, object)) return { object: live }
  return { object: withManagedFields(object, encodeManagedFields(owners)) }
}

/**
 * kubectl may migrate from client-side to server-side apply without conflicts on fields of its last applied
 * configuration.
 */
function unresolved(
  options: ApplyOptions,
  live: JsonObject,
  conflicting: readonly ConflictingFields[],
): readonly Conflict[] {
  if (conflicting.length === 0 || options.manager !== lastAppliedAnnotationManager)
    return listConflicts(conflicting)
  const allowed = lastAppliedFields(options.schema, options.apiVersion, live)
  return listConflicts(conflicting, path => contains(allowed, path))
}

/**
 * The last-applied annotation is rewritten on behalf of kubectl: its owner keeps it, unless the annotation
 * was removed.
 */
function loseRemoved(
  options: ApplyOptions,
  entries: ManagedEntries,
  { before, after }: { readonly before: JsonObject; readonly after: JsonObject },
): ManagedEntries {
  const change = compareObjects(options, before, after)
  return isEmpty(change.comparison.removed)
    ? entries
    : updateOwnership(options, { entries, change, self: '' }).entries
}

/**
 * On the first apply to an untracked object, all existing fields are assigned to the manager
 * `before-first-apply`.
 */
function entriesBeforeFirstApply(options: WriteOptions, live: JsonObject): ManagedEntries {
  const { comparison } = compareObjects(options, emptyObject(options.schema), live)
  const fields = withoutIgnoredFields(options, changed(comparison))
  if (isEmpty(fields)) return noEntries
  const self = identityOf({ ...options, manager: firstApplyManager }, 'Update')
  const entry = { ...self, fields, time: options.now }
  return new Map([[identify(entry), entry]])
}

/**
 * A client may overwrite managed fields, but not through a subresource. Managed fields that cannot be decoded
 * are ignored.
 */
function entriesBeforeUpdate({ live, updated, subresource = '' }: UpdateOptions): ManagedEntries {
  const sent = managedFieldsOf(updated)
  if (subresource !== '') return decodeOrNone(live)
  if (isResetManagedFields(sent)) return noEntries
  const entries = decodeOrNone(updated)
  return entries.size === 0 ? decodeOrNone(live) : entries
}

function decodeOrNone(object: JsonObject | undefined): ManagedEntries {
  try {
    return decodeManagedFields(managedFieldsOf(object))
  } catch (error) {
    if (error instanceof FieldPathError) return noEntries
    throw error
  }
}

/** A new object before its first write: zero values in it have no owner. */
function newObject(schema: Schema): JsonObject {
  const empty = emptyObject(schema)
  return schema.type === 'struct' ? withAbsentFields(empty, schema) : empty
}

function track(options: UpdateOptions, entries: ManagedEntries): ManagedEntries {
  const { live, updated, schema, now } = options
  const change = compareObjects(options, ...withoutOwners(live ?? newObject(schema), updated))
  if (isSame(change.comparison)) return entries
  const self = identityOf(options, 'Update')
  const identity = identify(self)
  const remaining = updateOwnership(options, { entries, change, self: identity }).entries
  const gained = withoutIgnoredFields(options, changed(change.comparison))
  const previous = remaining.get(identity)
  const fields = union(difference(previous?.fields ?? emptySet, change.comparison.removed), gained)
  const time = isEmpty(gained) ? previous?.time : now
  const entry =
    previous?.time === time && previous !== undefined
      ? withFields(previous, fields)
      : { ...self, fields, time }
  return capUpdateEntries(replace(remaining, identity, isEmpty(fields) ? undefined : entry))
}

/**
 * Removes the managed fields, which have no owner themselves. If they are equal in both objects, removal is
 * unnecessary.
 */
function withoutOwners(before: JsonObject, after: JsonObject): [JsonObject, JsonObject] {
  if (managedFieldsOf(before) === managedFieldsOf(after)) return [before, after]
  return [withManagedFields(before, undefined), withManagedFields(after, undefined)]
}

function identityOf(options: WriteOptions, operation: ManagerIdentity['operation']): ManagerIdentity {
  const { manager, apiVersion, subresource = '' } = options
  return { manager: manager === '' ? 'unknown' : manager, operation, apiVersion, subresource }
}

function replace(entries: ManagedEntries, identity: string, entry: ManagedEntry | undefined): ManagedEntries {
  if (entries.get(identity) === entry) return entries
  const replaced = new Map(entries)
  if (entry === undefined) replaced.delete(identity)
  else replaced.set(identity, entry)
  return replaced
}

function sameEntries(a: ManagedEntries, b: ManagedEntries): boolean {
  if (a.size !== b.size) return false
  for (const [identity, entry] of a) if (b.get(identity) !== entry) return false
  return true
}

function checkApplied({ applied, live, schema, apiVersion }: ApplyOptions): void {
  const kind = live?.['kind'] ?? applied['kind']
  if (applied['apiVersion'] !== apiVersion || applied['kind'] !== kind) {
    throw badRequest(`invalid object type: ${typeOf(applied)}`)
  }
  if ((managedFieldsOf(applied) ?? null) !== null) throw badRequest('metadata.managedFields must be nil')
  validateAppliedObject(applied, schema)
}

/** Throws ApiError if a configuration does not match the schema of its kind. */
export function validateAppliedObject(applied: JsonObject, schema: Schema): void {
  const problems = validateTypedValue(schema, applied)
  if (problems.length === 0) return
  const error = new TypedValueError(problems)
  throw failure(`failed to create typed patch object (${nameOf(applied)}): ${error.message}`, error)
}

/** A 500 Status without a reason, as Kubernetes returns for these failures. */
function failure(message: string, cause: Error): ApiError {
  const kind = { kind: 'Status', apiVersion: 'v1', metadata: {} } as const
  return new ApiError({ ...kind, status: 'Failure', message, code: 500 }, { cause })
}

/** `default/web; apps/v1, Kind=Deployment`. */
function nameOf(object: JsonObject | undefined): string {
  const metadata = asMap(object?.['metadata'])
  return `${text(metadata?.['namespace'])}/${text(metadata?.['name'])}; ${typeOf(object ?? {})}`
}

function typeOf(object: JsonObject): string {
  const apiVersion = text(object['apiVersion'])
  return `${apiVersion.includes('/') ? '' : '/'}${apiVersion}, Kind=${text(object['kind'])}`
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
