/** Configuration files of the API server: versioned API objects with strict decoding. */
import { strictDecode } from '#/api/decoding/strict-decode.ts'
import type { ListSchema, MapSchema, Schema, StructSchema } from '#/api/schema.ts'
import { readTypeMeta } from '#/api/decoding/type-meta.ts'
import { parseYaml } from '#/api/text/yaml.ts'

export interface ConfigurationKind<T> {
  readonly group: string
  /** Newest first; all have the same fields. */
  readonly versions: readonly string[]
  readonly kind: string
  readonly schema: StructSchema
  /** Phantom field that carries the type T; never set. */
  readonly file?: T
}

/** Throws an Error that describes what is invalid. */
export function readConfigurationFile<T>(text: string, configurationKind: ConfigurationKind<T>): T {
  const { group, versions, kind, schema } = configurationKind
  const { apiVersion } = readTypeMeta(parseYaml(text))
  const version = versions.find(each => apiVersion === `${group}/${each}`)
  if (version === undefined) {
    throw new Error(`the apiVersion must be one of ${versions.map(each => `${group}/${each}`).join(', ')}`)
  }
  const options = { expected: { group, version, kind }, fieldValidation: 'Strict' } as const
  return strictDecode(Buffer.from(text), { mediaType: 'application/yaml', schema, ...options })
    .value as unknown as T
}

export const string: Schema = { type: 'string' }
export const boolean: Schema = { type: 'boolean' }
export const integer: Schema = { type: 'integer', format: 'int32' }

export function struct(fields: Readonly<Record<string, Schema>>): StructSchema {
  return {
    type: 'struct',
    // Only named structs are validated in depth.
    name: 'apiserver.Configuration',
    fields: new Map(Object.entries(fields).map(([name, schema]) => [name, { schema, required: false }])),
    atomic: false,
    preserveUnknownFields: false,
  }
}

export function map(values: Schema): MapSchema {
  return { type: 'map', values, atomic: false }
}

export function list(items: Schema): ListSchema {
  return { type: 'list', items, listType: 'atomic', keys: [] }
}
