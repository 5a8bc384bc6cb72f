/**
 * The managed fields of a scale subresource. A `Scale` shows only how many replicas there are, wherever the
 * scaled object keeps that number, so the owners of that one field are carried over when the scale is read
 * and back when it is written.
 */
import type { JsonValue } from '../json-value.ts'
import { contains, difference, fieldSet, isEmpty } from './field-set.ts'
import { decodeManagedFields, encodeManagedFields, identify, type ManagedEntry } from './managed-fields.ts'
import { withFields } from './ownership.ts'
import { fieldPath } from './path-element.ts'

/**
 * Where the versions of the scaled kind keep the number of replicas; undefined for a version that cannot be
 * scaled.
 */
export type ReplicasPaths = ReadonlyMap<string, readonly string[] | undefined>

const scaleVersion = 'autoscaling/v1'
const replicasInScale = fieldPath('spec', 'replicas')

/** What the `Scale` of an object with these managed fields has. Throws FieldPathError. */
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
  /** The managed fields of the scaled object before. */
  readonly managedFields: JsonValue | undefined
  /**
   * Those of the `Scale` that was written, made from the former by `managedFieldsOfScale` and then changed.
   */
  readonly scaleManagedFields: JsonValue | undefined
  readonly replicasPaths: ReplicasPaths
  /** The version in which the scaled object is written. */
  readonly apiVersion: string
}

/** What the scaled object has after its `Scale` was written. Throws FieldPathError. */
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

/** An entry and its image in the scale differ in the version, which the image does not keep. */
function scaleKey(entry: ManagedEntry): string {
  return identify({ ...entry, apiVersion: '' })
}
