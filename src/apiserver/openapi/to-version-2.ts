import type { JsonSchema } from './json-schema.ts'

/**
 * Converts a custom resource's schema to OpenAPI v2. Unsupported constraints are dropped, so that client-side
 * validation never rejects what the server accepts.
 */
export function toVersion2(schema: JsonSchema): JsonSchema {
  const kept = Object.entries(schema).filter(([key]) => !unknownKeys.has(key))
  if (schema['nullable'] === true) return Object.fromEntries(kept.filter(([key]) => !shapeKeys.has(key)))
  if (schema['x-kubernetes-preserve-unknown-fields'] === true) {
    return Object.fromEntries(kept.filter(([key]) => !shapeKeys.has(key) || key === 'type'))
  }
  return Object.fromEntries(kept.map(([key, value]) => [key, convert(key, value)]))
}

/** Keywords that v2 does not have or interprets differently. */
const unknownKeys: ReadonlySet<string> = new Set(['nullable', 'oneOf', 'anyOf', 'allOf', 'not', 'default'])

/** Keywords that constrain values. */
const shapeKeys: ReadonlySet<string> = new Set([
  'type',
  'format',
  'properties',
  'required',
  'items',
  'additionalProperties',
  'enum',
  'pattern',
])

function convert(key: string, value: unknown): unknown {
  if (key === 'properties' && isSchema(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [name, isSchema(each) ? toVersion2(each) : each]),
    )
  }
  return (key === 'items' || key === 'additionalProperties') && isSchema(value) ? toVersion2(value) : value
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
