/** Strict decoding of plugin configurations: an unknown field is an error. */
import { decode } from '#/api/decoding/decode.ts'
import { DecodeError } from '#/api/decoding/decode-error.ts'
import { formatFieldErrors, type FieldError } from '#/api/field-error.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import type { Schema, StructSchema } from '#/api/schema.ts'
import { ConfigurationError } from './plugin-context.ts'

export interface ConfigurationType<T> {
  /** Name of the configured plugin or file, for error messages. */
  readonly name: string
  /** Accepted `kind` and `apiVersion`s; unchecked when absent. */
  readonly kind?: string
  readonly versions?: readonly string[]
  /** Schema of T. */
  readonly schema: StructSchema
  /** Phantom field that carries the type T; never set. */
  readonly value?: T
}

/** Throws ConfigurationError. */
export function readConfiguration<T>(value: JsonValue, form: ConfigurationType<T>): T {
  const { name, kind, versions, schema } = form
  const { value: decoded, unknownFields } = decoding(value, name, schema)
  if (unknownFields.length > 0) {
    throw new ConfigurationError(
      `invalid configuration of ${name}: unknown fields: ${unknownFields.join(', ')}`,
    )
  }
  if (kind !== undefined && decoded['kind'] !== kind) {
    throw new ConfigurationError(
      `invalid configuration of ${name}: kind must be ${kind}, got ${JSON.stringify(decoded['kind'] ?? '')}`,
    )
  }
  if (versions !== undefined && !versions.some(version => version === decoded['apiVersion'])) {
    const known = versions.join(', ')
    throw new ConfigurationError(
      `invalid configuration of ${name}: unsupported apiVersion ${JSON.stringify(decoded['apiVersion'] ?? '')}, ` +
        `supported: ${known}`,
    )
  }
  return decoded as T
}

/** Throws ConfigurationError with the semantic validation errors, if there are any. */
export function checkConfiguration(name: string, errors: readonly FieldError[]): void {
  if (errors.length > 0) {
    throw new ConfigurationError(`invalid configuration of ${name}: ${formatFieldErrors(errors)}`)
  }
}

function decoding(value: JsonValue, name: string, schema: StructSchema): ReturnType<typeof decode> {
  try {
    return decode(value, schema)
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw new ConfigurationError(`invalid configuration of ${name}: cannot decode: ${error.message}`, {
      cause: error,
    })
  }
}

export const text: Schema = { type: 'string' }
export const flag: Schema = { type: 'boolean' }
export const integer: Schema = { type: 'integer' }

export function listOf(items: Schema): Schema {
  return { type: 'list', items, listType: 'atomic', keys: [] }
}

export function mapOf(values: Schema): Schema {
  return { type: 'map', values, atomic: false }
}

export function struct(name: string, fields: Readonly<Record<string, Schema>>): StructSchema {
  return {
    type: 'struct',
    name,
    fields: new Map(Object.entries(fields).map(([field, schema]) => [field, { schema, required: false }])),
    atomic: false,
    preserveUnknownFields: false,
  }
}

/** A struct with `apiVersion` and `kind`. */
export function versionedStruct(name: string, fields: Readonly<Record<string, Schema>>): StructSchema {
  return struct(name, { apiVersion: text, kind: text, ...fields })
}
