/**
 * Merges an apply configuration into an object like server-side apply, but without field ownership: used by
 * mutating admission policies.
 */
import type { JsonObject } from './apply.ts'
import { mergeValues } from './apply/merge-values.ts'
import { fieldElement, indexElement, printElement } from './apply/path-element.ts'
import { asList, asMap, childSchema, isDeclared, TypedValueError } from './apply/structure.ts'
import { validateTypedValue } from './apply/validate-typed-value.ts'
import type { JsonValue } from './text/json-value.ts'
import type { Schema } from './schema.ts'

/** Thrown if a configuration cannot be merged into an object of its kind. */
export class StructuredMergeError extends Error {}

/** Returns the object itself if nothing changes. Throws StructuredMergeError. */
export function applyStructuredMerge(
  live: JsonObject,
  configuration: JsonObject,
  schema: Schema,
): JsonObject {
  const problems = validateTypedValue(schema, configuration)
  if (problems.length > 0) {
    const { message } = new TypedValueError(problems)
    throw new StructuredMergeError(`failed to convert patch object to typed object: ${message}`)
  }
  const atomics = findAtomics(schema, configuration)
  if (atomics.length > 0) {
    const paths = atomics.join(', ')
    throw new StructuredMergeError(
      `invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${paths}`,
    )
  }
  try {
    return asMap(mergeValues(schema, live, configuration)) ?? live
  } catch (error) {
    if (!(error instanceof TypedValueError)) throw error
    throw new StructuredMergeError(`failed to convert original object to typed object: ${error.message}`, {
      cause: error,
    })
  }
}

/**
 * Paths at which the configuration sets atomic values, which it would replace as a whole. The depth is
 * bounded, since the structure has been validated.
 */
function findAtomics(schema: Schema, value: JsonValue, path = ''): string[] {
  const map = asMap(value)
  if (map !== undefined && (schema.type === 'struct' || schema.type === 'map')) {
    const declared = Object.keys(map).filter(key => isDeclared(schema, key))
    const below = declared.flatMap(key =>
      findAtomics(childSchema(schema, key), map[key] ?? null, path + printElement(fieldElement(key))),
    )
    return schema.atomic ? [path, ...below] : below
  }
  const list = asList(value)
  if (list === undefined || schema.type !== 'list') return []
  const below = list.flatMap((item, index) =>
    findAtomics(schema.items, item, path + printElement(indexElement(index))),
  )
  return schema.listType === 'atomic' ? [path, ...below] : below
}
