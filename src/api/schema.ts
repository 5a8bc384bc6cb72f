/**
 * Schema of an API object, used by decoding, OpenAPI, `kubectl explain`, strategic merge patch and
 * server-side apply. Built-in kinds have generated schemas, custom ones are converted from their structural
 * schema; both have this type. Schemas are immutable and may be recursive (`JSONSchemaProps` contains
 * itself).
 */
export type Schema = ScalarSchema | ListSchema | MapSchema | StructSchema | AnySchema

export interface ScalarSchema {
  readonly type: 'string' | 'boolean' | 'integer' | 'number' | 'int-or-string' | 'quantity'
  /** As in OpenAPI: int32, int64, double, byte, date-time; `date-time-micro` marks MicroTime. */
  readonly format?: string
  /** Values of an enumeration in OpenAPI. Validation rules decide which of them are accepted. */
  readonly enum?: readonly string[]
}

export interface ListSchema {
  readonly type: 'list'
  readonly items: Schema
  /** List type in server-side apply: replaced as a whole, a set of scalars, or a map keyed by `keys`. */
  readonly listType: 'atomic' | 'set' | 'map'
  /** The key fields of a `map` list, in the order of `x-kubernetes-list-map-keys`. */
  readonly keys: readonly string[]
}

export interface MapSchema {
  readonly type: 'map'
  readonly values: Schema
  readonly atomic: boolean
}

export interface StructSchema {
  readonly type: 'struct'
  /** The OpenAPI definition, `io.k8s.api.core.v1.Pod`; empty for a nested struct of a custom resource. */
  readonly name: string
  readonly fields: ReadonlyMap<string, Field>
  /** Server-side apply treats the struct as a whole. */
  readonly atomic: boolean
  /** Fields not listed are kept instead of being dropped. */
  readonly preserveUnknownFields: boolean
}

/** Any JSON value: RawExtension, JSON, FieldsV1. */
export interface AnySchema {
  readonly type: 'any'
  readonly name?: string
  readonly union?: SchemaUnion
}

/** A value that is a struct or something else: `items` of a JSON schema. */
export interface SchemaUnion {
  readonly struct: StructSchema
  readonly other: 'boolean' | 'list of structs' | 'list of strings'
}

export interface Field {
  readonly schema: Schema
  readonly required: boolean
  /** Strategic merge patch strategy; without it lists are replaced and structs merged. */
  readonly patch?: PatchStrategy
  /**
   * Default value. Built-in kinds have it where their OpenAPI schema declares one and as `{}` for structs that
   * are always present; their rules set defaults. Server-side apply uses those of keys of `map` lists.
   */
  readonly default?: unknown
  readonly nullable?: boolean
  /**
   * Go's `omitempty` without a pointer: an empty value (false, 0, '', empty list or map) is the same as
   * absent and omitted.
   */
  readonly omitEmpty?: boolean
  /**
   * Kubernetes includes the field in JSON even if it is absent: with the zero value of its type, or as null for
   * lists, maps, times and pointers. See `zero-fields.ts`.
   */
  readonly absent?: 'zero' | 'null'
}

export interface PatchStrategy {
  /**
   * `merge` merges a list instead of replacing it; `replace` replaces a struct; `retainKeys` supports
   * `$retainKeys`.
   */
  readonly merge: boolean
  readonly replace: boolean
  readonly retainKeys: boolean
  /** Merge key of a list of objects; absent for a merged list of scalars. */
  readonly mergeKey?: string
}
