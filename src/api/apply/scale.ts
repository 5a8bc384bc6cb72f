/**
 * Managed fields of the scale subresource. A `Scale` contains only the replica count, which the scaled object
 * may store in another field, so the ownership of that field is translated when the scale is read and
 * translated back when it is written.
 */
import type { JsonValue } from '../text/json-value.ts'
import { contains, difference, fieldSet, isEmpty } from './field-set.ts'
import { decodeManagedFields, encodeManagedFields, identify, type ManagedEntry } from './managed-fields.ts'
import { withFields } from './ownership.ts'
import { fieldPath } from './path-element.ts'

/**
 * Path of the replica count in each version of the scaled kind; undefined for a version without a scale
 * subresource.
 */
export type ReplicasPaths = ReadonlyMap<string, readonly string[] | undefined>

const scaleVersion = 'autoscaling/v1'
const replicasInScale = fieldPath('spec', 'replicas')

/** The managed fields of the `Scale` of an object with these managed fields. Throws FieldPathError. */
export function managedFieldsOfScale(
  managedFields: JsonValue | undefined,
  replicasPaths: ReplicasPaths,
): JsonValue[] | undefined {
  const entries = new Map<string, ManagedEntry>()
  for (const entry of decodeManagedFields(managedFields).values()) {
    const path = replicasPaths.get(entry.apiVersion)
    if (path === undefined || !contains(entry.fields, fieldPath(...path))) continue
    const image = { ...entry, apiVersion: scaleVersion, fields: fieldSet([replicasInScale]) }
    entries.set(identify(image), image)
  }
  return encodeManagedFields(entries)
}

export interface ScaleWrite {
  /** Managed fields of the scaled object before the write. */
  readonly managedFields: JsonValue | undefined
  /** Managed fields of the written `Scale`: the result of `managedFieldsOfScale`, modified by the write. */
  readonly scaleManagedFields: JsonValue | undefined
  readonly replicasPaths: ReplicasPaths
  /** Version in which the scaled object is written. */
  readonly apiVersion: string
}

/** The managed fields of the scaled object after its `Scale` was written. Throws FieldPathError. */
export function managedFieldsFromScale(write: ScaleWrite): JsonValue[] | undefined {
  const { managedFields, scaleManagedFields, replicasPaths, apiVersion } = write
  const fromScale = new Map<string, ManagedEntry>()
  for (const entry of decodeManagedFields(scaleManagedFields).values()) fromScale.set(scaleKey(entry), entry)
  const entries = new Map<string, ManagedEntry>()
  for (const [identity, entry] of decodeManagedFields(managedFields)) {
    if (!replicasPaths.has(entry.apiVersion)) continue
    const path = fieldPath(...(replicasPaths.get(entry.apiVersion) ?? []))
    const stillOwns = !contains(entry.fields, path) || fromScale.delete(scaleKey(entry))
    const fields = stillOwns ? entry.fields : difference(entry.fields, fieldSet([path]))
    if (!isEmpty(fields)) entries.set(identity, withFields(entry, fields))
  }
  const path = fieldPath(...(replicasPaths.get(apiVersion) ?? []))
  for (const entry of fromScale.values()) {
    if (!contains(entry.fields, replicasInScale)) continue
    const scaled = { ...entry, apiVersion, fields: fieldSet([path]) }
    entries.set(identify(scaled), scaled)
  }
  return encodeManagedFields(entries)
}

/** Identifies an entry independently of its version, which differs between the object and its `Scale`. */
function scaleKey(entry: ManagedEntry): string {
  return identify({ ...entry, apiVersion: '' })
}
