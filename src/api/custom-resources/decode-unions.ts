import { mapCopyOnWrite, withField } from '../copy-on-write.ts'
import { decode } from '../decoding/decode.ts'
import { DecodeError } from '../decoding/decode-error.ts'
import { structDefinition } from '../definitions.ts'
import type { JSONSchemaProps } from '../generated/apiextensions/v1.ts'
import type { JsonValue } from '../text/json-value.ts'

/**
 * Decodes nested schemas in fields that have several types (`items`, `additionalProperties`), which the decoding of the
 * definition leaves as they are: null means absent, and unknown fields are dropped. Schemas of the wrong type remain,
 * for validation to report.
 */
export function decodeUnions(schema: JSONSchemaProps): JSONSchemaProps {
  let decoded = schema
  for (const name of ['items', 'additionalProperties', 'additionalItems'] as const) {
    decoded = withField(decoded, name, decodeUnion)
  }
  decoded = withField(decoded, 'dependencies', values => mapValues(values, decodeUnion))
  for (const name of ['properties', 'patternProperties', 'definitions'] as const) {
    decoded = withField(decoded, name, values => mapValues(values, decodeUnions))
  }
  for (const name of ['allOf', 'oneOf', 'anyOf'] as const) {
    decoded = withField(decoded, name, list => mapCopyOnWrite(list, decodeUnions))
  }
  return withField(decoded, 'not', decodeUnions)
}

function decodeUnion<T>(value: T): T {
  if (Array.isArray(value)) return mapCopyOnWrite<unknown>(value, decodeUnion) as T
  if (typeof value !== 'object' || value === null) return value
  try {
    const { value: schema } = decode(value as JsonValue, structDefinition('apiextensions.v1.JSONSchemaProps'))
    return decodeUnions(schema) as T
  } catch (error) {
    if (error instanceof DecodeError) return value
    throw error
  }
}

function mapValues<T>(
  values: Readonly<Record<string, T>>,
  change: (value: T) => T,
): Readonly<Record<string, T>> {
  const entries = Object.entries(values)
  const changed = mapCopyOnWrite<[string, T]>(entries, entry => {
    const value = change(entry[1])
    return value === entry[1] ? entry : [entry[0], value]
  })
  return changed === entries ? values : Object.fromEntries(changed)
}
