/**
 * The vocabulary of schemas of custom resources: each function returns an OpenAPI schema and carries the type
 * of the values that it allows, so that `defineCustomResource` needs one source for both. Options have the
 * names of the keywords of a CustomResourceDefinition; those of `x-kubernetes-...` are without the prefix.
 *
 * ```ts
 * import * as s from 'k8ts/custom-resource/schema'
 *
 * const spec = s.object({
 *   size: s.integer({ minimum: 1, default: 1, description: 'Number of members.' }),
 *   version: s.optional(s.string({ pattern: '^v[0-9]+$' })),
 * })
 * ```
 */
import type { JSONSchemaProps, ValidationRule } from '#/api/generated/apiextensions/v1.ts'
import type { Condition } from '#/api/generated/meta/v1.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Int64 } from '#/api/text/int64.ts'

/**
 * A schema with the type of its values: `Input` as clients write them, `Output` as the API server returns
 * them, which differ in fields with defaults.
 */
export interface Schema<Input = unknown, Output = Input, P extends Presence = Presence> {
  readonly openAPIV3Schema: JSONSchemaProps
  readonly presence: P
  /** Never set: carries the type for the compiler. */
  readonly input?: Input
  /** Never set: carries the type for the compiler. */
  readonly output?: Output
}

/** If an object must have the field; a `defaulted` one is present in every object that the server returns. */
export type Presence = 'required' | 'optional' | 'defaulted'

/** The schemas of an object's fields, by name. */
export type Fields = Readonly<Record<string, Schema>>

/** The type of the values that clients write. */
export type InputOf<S> = S extends Schema<infer Input, unknown> ? Input : never

/** The type of the values that the API server returns: with defaults. */
export type OutputOf<S> = S extends Schema<unknown, infer Output> ? Output : never

/** Only required fields must be written. */
export type FieldsInput<F extends Fields> = Flat<
  { readonly [Name in keyof F as F[Name] extends Required ? Name : never]: InputOf<F[Name]> } & {
    readonly [Name in keyof F as F[Name] extends Required ? never : Name]?: InputOf<F[Name]>
  }
>

/** All but optional fields are returned. */
export type FieldsOutput<F extends Fields> = Flat<
  { readonly [Name in keyof F as F[Name] extends Optional ? never : Name]: OutputOf<F[Name]> } & {
    readonly [Name in keyof F as F[Name] extends Optional ? Name : never]?: OutputOf<F[Name]>
  }
>

type Required = { readonly presence: 'required' }
type Optional = { readonly presence: 'optional' }

/** An intersection as one object type, which editors show in full. */
export type Flat<T> = { readonly [Name in keyof T]: T[Name] }

/** Options of every schema. */
export interface SchemaOptions<T> {
  readonly title?: string
  /** Shown by `kubectl explain`. */
  readonly description?: string
  /** The value of an absent field. */
  readonly default?: T | null
  readonly example?: unknown
  readonly nullable?: boolean
  /** Rules in CEL, where `self` is the value: `x-kubernetes-validations`. */
  readonly validations?: readonly ValidationRule[]
  /** Further restrictions; they must not declare types or fields. */
  readonly allOf?: readonly JSONSchemaProps[]
  readonly anyOf?: readonly JSONSchemaProps[]
  readonly oneOf?: readonly JSONSchemaProps[]
  readonly not?: JSONSchemaProps
}

export interface StringOptions extends SchemaOptions<string> {
  readonly enum?: readonly string[]
  /** `date-time`, `duration`, `ipv4`, `uri`, `byte` and so on. */
  readonly format?: string
  readonly minLength?: number
  readonly maxLength?: number
  /** An RE2 regular expression; it matches anywhere unless it is anchored. */
  readonly pattern?: string
}

export interface NumberOptions extends SchemaOptions<number> {
  readonly enum?: readonly number[]
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: boolean
  readonly exclusiveMaximum?: boolean
  readonly multipleOf?: number
}

export interface IntegerOptions extends NumberOptions {
  /** Default `int32`. A value of `int64` beyond 2^53 is a `bigint`. */
  readonly format?: 'int32' | 'int64'
}

export interface IntOrStringOptions extends SchemaOptions<number | string> {
  readonly pattern?: string
}

export interface ObjectOptions<T> extends SchemaOptions<T> {
  readonly minProperties?: number
  readonly maxProperties?: number
  /** `atomic`: server-side apply treats the object as a whole. */
  readonly mapType?: 'atomic' | 'granular'
}

export interface StructOptions<T> extends ObjectOptions<T> {
  /** Keeps fields that the schema does not have instead of pruning them. */
  readonly preserveUnknownFields?: boolean
}

export interface ArrayOptions<T, Key = string> extends SchemaOptions<readonly T[]> {
  readonly minItems?: number
  readonly maxItems?: number
  /** How server-side apply merges the list; default `atomic`. */
  readonly listType?: 'atomic' | 'set' | 'map'
  /** The fields that identify an item of a `map` list. */
  readonly listMapKeys?: readonly Key[]
}

/** The schema of a value with these options. */
export type ValueSchema<Input, Output, Options> = Schema<
  Input | NullOf<Options>,
  Output | NullOf<Options>,
  Options extends { readonly default: unknown } ? 'defaulted' : 'required'
>

type NullOf<Options> = Options extends { readonly nullable: true } ? null : never

type EnumOf<Options, T> = Options extends { readonly enum: readonly (infer E)[] } ? E : T

/** Rejects options that the function does not have, which inference of the options would accept. */
type Exactly<Given, Allowed> = Given & { readonly [Name in Exclude<keyof Given, keyof Allowed>]: never }

export function string<const O extends StringOptions>(
  options?: Exactly<O, StringOptions>,
): ValueSchema<EnumOf<O, string>, EnumOf<O, string>, O> {
  return schemaOf({ type: 'string' }, options)
}

export function integer<const O extends IntegerOptions>(
  options?: Exactly<O, IntegerOptions>,
): ValueSchema<EnumOf<O, IntegerOf<O>>, EnumOf<O, IntegerOf<O>>, O> {
  return schemaOf({ type: 'integer', format: 'int32' }, options)
}

type IntegerOf<Options> = Options extends { readonly format: 'int64' } ? Int64 : number

export function number<const O extends NumberOptions>(
  options?: Exactly<O, NumberOptions>,
): ValueSchema<EnumOf<O, number>, EnumOf<O, number>, O> {
  return schemaOf({ type: 'number' }, options)
}

export function boolean<const O extends SchemaOptions<boolean>>(
  options?: Exactly<O, SchemaOptions<boolean>>,
): ValueSchema<boolean, boolean, O> {
  return schemaOf({ type: 'boolean' }, options)
}

/** An integer or a string, such as a port number or name, or a count or percentage. */
export function intOrString<const O extends IntOrStringOptions>(
  options?: Exactly<O, IntOrStringOptions>,
): ValueSchema<number | string, number | string, O> {
  return schemaOf({ 'x-kubernetes-int-or-string': true }, options)
}

/** An amount such as `500m`, `2`, `1.5Gi`. */
export function quantity<const O extends SchemaOptions<number | string>>(
  options?: Exactly<O, SchemaOptions<number | string>>,
): ValueSchema<number | string, number | string, O> {
  return schemaOf({ 'x-kubernetes-int-or-string': true, 'pattern': quantityPattern }, options)
}

/** https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/ */
const quantityPattern = '^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$'

/** An object with these fields; others are pruned. */
export function object<const F extends Fields, const O extends StructOptions<FieldsInput<F>>>(
  fields: F,
  options?: Exactly<O, StructOptions<FieldsInput<F>>>,
): ValueSchema<FieldsInput<F> & UnknownFieldsOf<O>, FieldsOutput<F> & UnknownFieldsOf<O>, O> {
  return schemaOf({ type: 'object', ...propertiesOf(fields) }, options)
}

type UnknownFieldsOf<Options> = Options extends { readonly preserveUnknownFields: true }
  ? { readonly [name: string]: unknown }
  : unknown

function propertiesOf(fields: Fields): JSONSchemaProps {
  const entries = Object.entries(fields)
  const required = entries.filter(([, { presence }]) => presence === 'required').map(([name]) => name)
  return {
    ...(entries.length > 0 && {
      properties: Object.fromEntries(entries.map(([name, each]) => [name, each.openAPIV3Schema])),
    }),
    ...(required.length > 0 && { required }),
  }
}

/** An object with arbitrary keys. */
export function map<
  const V extends Schema,
  const O extends ObjectOptions<Readonly<Record<string, InputOf<V>>>>,
>(
  values: V,
  options?: Exactly<O, ObjectOptions<Readonly<Record<string, InputOf<V>>>>>,
): ValueSchema<Readonly<Record<string, InputOf<V>>>, Readonly<Record<string, OutputOf<V>>>, O> {
  return schemaOf({ type: 'object', additionalProperties: values.openAPIV3Schema }, options)
}

export function array<
  const I extends Schema,
  const O extends ArrayOptions<InputOf<I>, keyof InputOf<I> & string>,
>(
  items: I,
  options?: Exactly<O, ArrayOptions<InputOf<I>, keyof InputOf<I> & string>>,
): ValueSchema<readonly InputOf<I>[], readonly OutputOf<I>[], O> {
  return schemaOf({ type: 'array', items: items.openAPIV3Schema }, options)
}

/** Any JSON value, which is stored as it is. */
export function any<const O extends SchemaOptions<unknown>>(
  options?: Exactly<O, SchemaOptions<unknown>>,
): ValueSchema<unknown, unknown, O> {
  return schemaOf({ 'x-kubernetes-preserve-unknown-fields': true }, options)
}

/** A complete object of any kind, such as a template. Its fields are kept; its metadata is validated. */
export function embeddedResource<const O extends SchemaOptions<EmbeddedResource>>(
  options?: Exactly<O, SchemaOptions<EmbeddedResource>>,
): ValueSchema<EmbeddedResource, EmbeddedResource, O> {
  const type = { 'type': 'object', 'x-kubernetes-embedded-resource': true }
  return schemaOf({ ...type, 'x-kubernetes-preserve-unknown-fields': true }, options)
}

export interface EmbeddedResource extends Partial<KubernetesObject> {
  readonly apiVersion: string
  readonly kind: string
  readonly [name: string]: unknown
}

/** A list of the standard conditions (`meta/v1`), which server-side apply merges by type. */
export function conditions(): Schema<readonly Condition[], readonly Condition[], 'required'> {
  const condition = object({
    type: string({ maxLength: 316, description: 'CamelCase, or with a prefix: example.com/CamelCase.' }),
    status: string({ enum: ['True', 'False', 'Unknown'] }),
    reason: string({ minLength: 1, maxLength: 1_024, pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$' }),
    message: string({ maxLength: 32_768 }),
    lastTransitionTime: string({ format: 'date-time', description: 'When the status last changed.' }),
    observedGeneration: optional(
      integer({ format: 'int64', minimum: 0, description: 'The metadata.generation that was observed.' }),
    ),
  })
  return schemaOf(array(condition).openAPIV3Schema, { listType: 'map', listMapKeys: ['type'] })
}

/** The field may be absent. */
export function optional<S extends Schema>(schema: S): Schema<InputOf<S>, OutputOf<S>, 'optional'> {
  return { openAPIV3Schema: schema.openAPIV3Schema, presence: 'optional' }
}

/** Options whose keyword has a prefix. */
const extensions: Readonly<Record<string, keyof JSONSchemaProps>> = {
  listMapKeys: 'x-kubernetes-list-map-keys',
  listType: 'x-kubernetes-list-type',
  mapType: 'x-kubernetes-map-type',
  preserveUnknownFields: 'x-kubernetes-preserve-unknown-fields',
  validations: 'x-kubernetes-validations',
}

/** The types are those of the caller's declaration. */
function schemaOf<Input, Output, P extends Presence>(
  type: JSONSchemaProps,
  options: object = {},
): Schema<Input, Output, P> {
  const keywords = Object.entries(options).map(([name, value]) => [extensions[name] ?? name, value])
  const openAPIV3Schema: JSONSchemaProps = { ...type, ...Object.fromEntries(keywords) }
  const presence: Presence = openAPIV3Schema.default === undefined ? 'required' : 'defaulted'
  return { openAPIV3Schema, presence: presence as P }
}
