/**
 * Extracts the fields of an object that a manager applied, as the starting point for a modified
 * configuration.
 */
import type { Schema } from '../schema.ts'
import { leaves } from './field-set.ts'
import { decodeManagedFields, identify, managedFieldsOf } from './managed-fields.ts'
import { extractItems } from './select-items.ts'
import { asMap, valueAt, type JsonObject } from './structure.ts'

export interface ExtractOptions {
  readonly object: JsonObject
  readonly manager: string
  readonly schema: Schema
  readonly subresource?: string
}

/**
 * Besides the applied fields, the result contains only the fields that identify the object. Throws
 * FieldPathError or TypedValueError.
 */
export function extractApplied({ object, manager, schema, subresource = '' }: ExtractOptions): JsonObject {
  const entries = decodeManagedFields(managedFieldsOf(object))
  const entry = entries.get(identify({ manager, operation: 'Apply', apiVersion: '', subresource }))
  const part = entry === undefined ? undefined : asMap(extractItems(schema, object, leaves(entry.fields)))
  const metadata = asMap(object['metadata'])
  return {
    ...pick(object, 'apiVersion', 'kind'),
    ...part,
    metadata: { ...pick(metadata, 'name', 'namespace'), ...asMap(part?.['metadata']) },
  }
}

function pick(map: JsonObject | undefined, ...names: readonly string[]): JsonObject {
  const picked: JsonObject = {}
  for (const name of names) {
    const value = valueAt(map, name)
    if (value !== undefined) picked[name] = value
  }
  return picked
}
