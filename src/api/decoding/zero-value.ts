/**
 * The zero value of a built-in struct as Kubernetes serializes it: structs that are always present, and
 * scalars that are included even if zero. Clients rely on `status.replicas` being a number before a
 * controller has processed the object.
 */
import type { JsonValue } from '../text/json-value.ts'
import type { JsonObject } from '../text/json-object.ts'
import { presenceOf } from '../protobuf/field-numbers.ts'
import type { ScalarSchema, StructSchema } from '../schema.ts'

export function zeroStruct({ name: fullName, fields }: StructSchema): JsonObject {
  const shortName = fullName.split('.').slice(-3).join('.')
  const zero: JsonObject = {}
  for (const [name, { schema, required, default: fallback }] of fields) {
    if (schema.type === 'struct' && fallback !== undefined) zero[name] = zeroStruct(schema)
    else if (schema.type in zeros && (required || presenceOf(shortName, name) === 'shown')) {
      zero[name] = zeros[schema.type as ScalarSchema['type']]
    }
  }
  return zero
}

const zeros: Readonly<Record<ScalarSchema['type'], JsonValue>> = {
  'string': '',
  'boolean': false,
  'integer': 0,
  'number': 0,
  'int-or-string': 0,
  'quantity': '0',
}
