/**
 * `metadata.managedFields`: who owns which fields of an object. One entry stands for one manager with one
 * operation, one subresource and, unless it applies, one version.
 */
import type { JsonValue } from '../json-value.ts'
import { quote } from '../quote.ts'
import { emptySet, union, type FieldSet } from './field-set.ts'
import { parseFields, printFields } from './fields-v1.ts'
import { compareText, encodeText, FieldPathError } from './path-element.ts'
import { asList, asMap, valueAt, type JsonObject } from './structure.ts'

export interface ManagerIdentity {
  readonly manager: string
  readonly operation: 'Apply' | 'Update'
  readonly apiVersion: string
  /** Empty for the object itself. */
  readonly subresource: string
}

export interface ManagedEntry extends ManagerIdentity {
  readonly fields: FieldSet
  /** When the manager last changed something; an entry made before times were kept has none. */
  readonly time: string | undefined
}

/** The entries of one object by the text that `identify` gives. */
export type ManagedEntries = ReadonlyMap<string, ManagedEntry>

export const noEntries: ManagedEntries = new Map()

/**
 * One text for one entry of an object. Those who apply keep their entry when they go over to another version.
 */
export function identify({ manager, operation, apiVersion, subresource }: ManagerIdentity): string {
  let text = manager === '' ? '{' : `{"manager":${encodeText(manager)},`
  text += `"operation":"${operation}"`
  if (operation !== 'Apply') text += `,"apiVersion":${encodeText(apiVersion)}`
  if (subresource !== '') text += `,"subresource":${encodeText(subresource)}`
  return `${text}}`
}

/** Throws FieldPathError when an entry cannot be understood. */
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

/**
 * The list as Kubernetes orders it: those who apply first, then by time; undefined when there are no entries.
 */
export function encodeManagedFields(entries: ManagedEntries): JsonValue[] | undefined {
  if (entries.size === 0) return undefined
  return [...entries.values()].sort(compareEntries).map(encodeEntry)
}

export function managedFieldsOf(object: JsonObject | undefined): JsonValue | undefined {
  return valueAt(asMap(object?.['metadata']), 'managedFields')
}

/** The object with other managed fields, or with none. */
export function withManagedFields(object: JsonObject, managedFields: JsonValue | undefined): JsonObject {
  if (managedFieldsOf(object) === managedFields) return object
  const { managedFields: _, ...metadata } = asMap(object['metadata']) ?? {}
  return { ...object, metadata: managedFields === undefined ? metadata : { ...metadata, managedFields } }
}

/** Whether a client asks to forget all owners: an empty list, or a list with one empty entry. */
export function isReset(managedFields: JsonValue | undefined): boolean {
  const list = asList(managedFields)
  if (list === undefined || list.length > 1) return false
  return list.length === 0 || Object.values(asMap(list[0]) ?? { entry: true }).every(isBlank)
}

/** Entries of updates that an object keeps; past that the oldest of one version are merged into one entry. */
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
 * Merges an entry with the bucket of its version, or with the oldest entry of the version when there is no
 * bucket yet.
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
