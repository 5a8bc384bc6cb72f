import { mapCopyOnWrite, withField, withoutField } from '../copy-on-write.ts'
import type { JSONSchemaProps } from '../generated/apiextensions/v1.ts'

/**
 * Removes empty lists and maps from a schema and those in it, which are not stored. Decoding keeps them, because some
 * are errors where the value itself would be one: at the root if there is a status subresource, and `dependencies`.
 */
export function withoutEmptyKeywords(root: JSONSchemaProps, hasStatus: boolean): JSONSchemaProps {
  return hasStatus ? withinSubschemas(root) : removeEmpty(root)
}

function removeEmpty(schema: JSONSchemaProps): JSONSchemaProps {
  let kept = schema
  for (const name of keywords) {
    const value: object | undefined = schema[name]
    if (value !== undefined && Object.keys(value).length === 0) kept = withoutField(kept, name)
  }
  return withinSubschemas(kept)
}

const keywords = [
  'allOf',
  'anyOf',
  'definitions',
  'enum',
  'oneOf',
  'patternProperties',
  'x-kubernetes-list-map-keys',
] as const

function withinSubschemas(schema: JSONSchemaProps): JSONSchemaProps {
  let changed = schema
  for (const name of ['items', 'additionalProperties'] as const)
    changed = withField(changed, name, value => (isSchema(value) ? removeEmpty(value) : value))
  for (const name of ['allOf', 'anyOf', 'oneOf'] as const)
    changed = withField(changed, name, list => mapCopyOnWrite(list, removeEmpty))
  changed = withField(changed, 'properties', removeWithin)
  return withField(changed, 'not', removeEmpty)
}

type Properties = NonNullable<JSONSchemaProps['properties']>

function removeWithin(properties: Properties): Properties {
  const entries = Object.entries(properties)
  const changed = mapCopyOnWrite<(typeof entries)[number]>(entries, entry => {
    const value = removeEmpty(entry[1])
    return value === entry[1] ? entry : [entry[0], value]
  })
  return changed === entries ? properties : Object.fromEntries(changed)
}

function isSchema(value: unknown): value is JSONSchemaProps {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
