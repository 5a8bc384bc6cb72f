/**
 * `metadata.managedFields`: the field managers of an object and the fields they own. An entry is identified
 * by manager, operation, subresource and, for Update entries, version.
 */
import type { JsonValue } from '../text/json-value.ts'
import { quote } from '../text/quote.ts'
import { emptySet, union, type FieldSet } from './field-set.ts'
import { parseFields, printFields } from './fields-v1.ts'
import { compareText, encodeText, FieldPathError } from './path-element.ts'
import { asList, asMap, valueAt, type JsonObject } from './structure.ts'

export interface ManagerIdentity {
  readonly manager: string
  readonly operation: 'Apply' | 'Update'
  readonly apiVersion: string
  /** Empty for the main resource. */
  readonly subresource: string
}

export interface ManagedEntry extends ManagerIdentity {
  readonly fields: FieldSet
  /** Time of the manager's last change; undefined for entries written without a time. */
  readonly time: string | undefined
}

/** The entries of one object, keyed by `identify`. */
export type ManagedEntries = ReadonlyMap<string, ManagedEntry>

export const noEntries: ManagedEntries = new Map()

/** The key of an entry. An Apply entry keeps its key across versions. */
export function identify({ manager, operation, apiVersion, subresource }: ManagerIdentity): string {
  let text = manager === '' ? '{' : `{"manager":${encodeText(manager)},`
  text += `"operation":"${operation}"`
  if (operation !== 'Apply') text += `,"apiVersion":${encodeText(apiVersion)}`
  if (subresource !== '') text += `,"subresource":${encodeText(subresource)}`
  return `${text}}`
}

/** Throws FieldPathError if an entry is invalid. */
export function decodeManagedFields(managedFields: JsonValue | undefined): ManagedEntries {
  const list = asList(managedFields)
  if (list === undefined || list.length === 0) return noEntries
  const entries = new Map<string, ManagedEntry>()
  for (const [index, item] of list.entries()) {
    const entry = decodeEntry(asMap(item) ?? {}, index)
    entries.set(identify(entry), entry)
  }
  return entries
}

/** Sorted as in Kubernetes: Apply entries first, then by time; undefined if there are no entries. */
export function encodeManagedFields(entries: ManagedEntries): JsonValue[] | undefined {
  if (entries.size === 0) return undefined
  return [...entries.values()].sort(compareEntries).map(encodeEntry)
}

export function managedFieldsOf(object: JsonObject | undefined): JsonValue | undefined {
  return valueAt(asMap(object?.['metadata']), 'managedFields')
}

/** Replaces the managed fields of the object, or removes them. */
export function withManagedFields(object: JsonObject, managedFields: JsonValue | undefined): JsonObject {
  if (managedFieldsOf(object) === managedFields) return object
  const { managedFields: _, ...metadata } = asMap(object['metadata']) ?? {}
  return { ...object, metadata: managedFields === undefined ? metadata : { ...metadata, managedFields } }
}

/** True if the client resets the managed fields: an empty list, or a list with one empty entry. */
export function isResetManagedFields(managedFields: JsonValue | undefined): boolean {
  const list = asList(managedFields)
  if (list === undefined || list.length > 1) return false
  return list.length === 0 || Object.values(asMap(list[0]) ?? { entry: true }).every(isBlank)
}

/**
 * Maximum number of Update entries per object; beyond it the oldest entries of the same version are merged.
 */
const updateEntriesMax = 10
const mergedManager = 'ancient-changes'

export function capUpdateEntries(entries: ManagedEntries): ManagedEntries {
  const updates = [...entries].filter(([, entry]) => entry.operation === 'Update')
  let excess = updates.length - updateEntriesMax
  if (excess <= 0) return entries
  const capped = new Map(entries)
  const oldestOfVersion = new Map<string, string>()
  for (const [identity, entry] of updates.sort(compareAge)) {
    if (excess <= 0) break
    const oldest = oldestOfVersion.get(entry.apiVersion)
    if (oldest === undefined) {
      oldestOfVersion.set(entry.apiVersion, identity)
      continue
    }
    mergeInto(capped, oldest, identity)
    excess--
  }
  return capped
}

/**
 * Merges an entry into the bucket entry of its version, or into the oldest entry of the version if there is
 * no bucket yet.
 */
function mergeInto(entries: Map<string, ManagedEntry>, oldest: string, identity: string): void {
  const entry = entries.get(identity)
  if (entry === undefined) return
  const bucket: ManagerIdentity = { ...entry, manager: mergedManager, subresource: '' }
  const bucketIdentity = identify(bucket)
  const isApart = bucketIdentity !== identity && entries.has(bucketIdentity)
  const other = isApart ? bucketIdentity : oldest
  const fields = union(entries.get(other)?.fields ?? emptySet, entry.fields)
  entries.delete(other)
  entries.delete(identity)
  entries.set(bucketIdentity, { ...bucket, fields, time: entry.time })
}

type Identified = readonly [string, ManagedEntry]

function compareAge([a, left]: Identified, [b, right]: Identified): number {
  return seconds(left.time) - seconds(right.time) || compareText(a, b)
}

function compareEntries(a: ManagedEntry, b: ManagedEntry): number {
  return (
    compareText(a.operation, b.operation) ||
    seconds(a.time) - seconds(b.time) ||
    compareText(a.manager, b.manager) ||
    compareText(a.apiVersion, b.apiVersion) ||
    compareText(a.subresource, b.subresource)
  )
}

function seconds(time: string | undefined): number {
  const milliseconds = time === undefined ? 0 : Date.parse(time)
  return Number.isNaN(milliseconds) ? 0 : Math.floor(milliseconds / 1_000)
}

function isBlank(value: JsonValue): boolean {
  return value === null || value === ''
}

function decodeEntry(item: JsonObject, index: number): ManagedEntry {
  const operation = item['operation']
  if (operation !== 'Apply' && operation !== 'Update') {
    throw new FieldPathError('operation must be `Apply` or `Update`')
  }
  const apiVersion = text(item, 'apiVersion')
  if (apiVersion === '') throw new FieldPathError('apiVersion must not be empty')
  const fieldsType = text(item, 'fieldsType')
  if (fieldsType === '') throw new FieldPathError(`missing fieldsType in managed fields entry ${index}`)
  if (fieldsType !== 'FieldsV1') {
    throw new FieldPathError(`invalid fieldsType ${quote(fieldsType)} in managed fields entry ${index}`)
  }
  return {
    manager: text(item, 'manager'),
    operation,
    apiVersion,
    subresource: text(item, 'subresource'),
    time: text(item, 'time') || undefined,
    fields: parseFields(valueAt(item, 'fieldsV1') ?? {}),
  }
}

function text(item: JsonObject, name: string): string {
  const value = valueAt(item, name) ?? ''
  if (typeof value !== 'string') throw new FieldPathError(`${name} must be a string`)
  return value
}

function encodeEntry(entry: ManagedEntry): JsonObject {
  return {
    ...(entry.manager !== '' && { manager: entry.manager }),
    operation: entry.operation,
    apiVersion: entry.apiVersion,
    ...(entry.time !== undefined && { time: entry.time }),
    fieldsType: 'FieldsV1',
    fieldsV1: printFields(entry.fields),
    ...(entry.subresource !== '' && { subresource: entry.subresource }),
  }
}
