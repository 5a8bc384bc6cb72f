/** Strict decoding of configuration files in the form of API objects. */
import { decode } from '#/api/decoding/decode.ts'
import { DecodeError } from '#/api/decoding/decode-error.ts'
import { isApiError } from '#/api/errors.ts'
import { quote } from '#/api/text/quote.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import type { GroupVersionKind } from '#/api/resource.ts'
import type { ListSchema, Schema, StructSchema } from '#/api/schema.ts'
import { strictDecode } from '#/api/decoding/strict-decode.ts'
import { requireTypeMeta } from '#/api/decoding/type-meta.ts'
import { parseYaml } from '#/api/text/yaml.ts'

/** An invalid configuration; the message includes the field path. */
export class ConfigurationError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ConfigurationError'
  }
}

/** A kind of configuration file, with the type that its schema describes. */
export interface FileKind<T> extends GroupVersionKind {
  readonly schema: StructSchema
  /** Type carrier; never set. */
  readonly file?: T
}

/** Throws ConfigurationError. */
export function readFile<T>(text: string, { schema, ...expected }: FileKind<T>): T {
  try {
    requireTypeMeta(parseYaml(text), text)
    const options = { expected, fieldValidation: 'Strict' } as const
    // The schema guarantees the type.
    return strictDecode(Buffer.from(text), { mediaType: 'application/yaml', schema, ...options })
      .value as unknown as T
  } catch (error) {
    if (!isApiError(error) && !(error instanceof DecodeError)) throw error
    throw new ConfigurationError(error.message, { cause: error })
  }
}

/** Decodes a part of a file with its own schema. Throws ConfigurationError with the field path. */
export function readPart(value: unknown, schema: StructSchema, field: string): Record<string, unknown> {
  try {
    const decoded = decode((value ?? {}) as JsonValue, schema)
    const [unknown] = decoded.unknownFields
    if (unknown !== undefined) throw new ConfigurationError(`unknown field ${quote(`${field}.${unknown}`)}`)
    return decoded.value
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw new ConfigurationError(`${field}: ${error.message}`, { cause: error })
  }
}

export const string: Schema = { type: 'string' }
export const boolean: Schema = { type: 'boolean' }
export const integer: Schema = { type: 'integer', format: 'int32' }
export const long: Schema = { type: 'integer', format: 'int64' }
export const number: Schema = { type: 'number' }

export function struct(fields: Readonly<Record<string, Schema>>): StructSchema {
  return {
    type: 'struct',
    // Only structs with a name are type-checked by the decoder.
    name: 'scheduler.Configuration',
    fields: new Map(Object.entries(fields).map(([name, schema]) => [name, { schema, required: false }])),
    atomic: false,
    preserveUnknownFields: false,
  }
}

export function list(items: Schema): ListSchema {
  return { type: 'list', items, listType: 'atomic', keys: [] }
}
