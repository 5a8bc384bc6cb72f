/**
 * The run-time type of an API object: what strict decoding, OpenAPI, `explain`, strategic merge patch and server-side
 * apply know of its fields. Built-in kinds have generated schemas, custom ones get theirs from their structural schema;
 * both are values of this one type. Schemas are immutable and may be recursive (`JSONSchemaProps` contains itself).
 */
export type Schema = ScalarSchema | ListSchema | MapSchema | StructSchema | AnySchema

export interface ScalarSchema {
  readonly type: 'string' | 'boolean' | 'integer' | 'number' | 'int-or-string' | 'quantity'
  /** As in OpenAPI: int32, int64, double, byte, date-time; `date-time-micro` marks MicroTime. */
  readonly format?: string
}

export interface ListSchema {
  readonly type: 'list'
  readonly items: Schema
  /** How server-side apply sees the list: replaced whole, a set of scalars, or a map keyed by `keys`. */
  readonly listType: 'atomic' | 'set' | 'map'
  /** The fields that identify an item of a `map` list, in the order of `x-kubernetes-list-map-keys`. */
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
  /** Server-side apply owns the struct as a whole. */
  readonly atomic: boolean
  /** Fields not listed are kept as they are instead of being unknown. */
  readonly preserveUnknownFields: boolean
}

/** Any JSON value: RawExtension, JSON, FieldsV1. */
export interface AnySchema {
  readonly type: 'any'
  readonly name?: string
}

export interface Field {
  readonly schema: Schema
  readonly required: boolean
  /** What strategic merge patch does with the field; without it lists are replaced and structs merged. */
  readonly patch?: PatchStrategy
  /**
   * The value when the field is absent. Built-in kinds have it only where server-side apply asks for it: for keys of
   * `map` lists, and as `{}` for structs that are always there.
   */
  readonly default?: unknown
  readonly nullable?: boolean
  /** To Go empty and absent are one here, and it shows neither: false, 0, '', a list or map of nothing. */
  readonly absentWhenEmpty?: boolean
}

export interface PatchStrategy {
  /** `merge` merges a list instead of replacing it; `replace` replaces a struct; `retainKeys` obeys `$retainKeys`. */
  readonly merge: boolean
  readonly replace: boolean
  readonly retainKeys: boolean
  /** The field that identifies items of a merged list of objects; a merged list of scalars has none. */
  readonly mergeKey?: string
}
