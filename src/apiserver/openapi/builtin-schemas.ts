/** JSON schemas of the built-in definitions. */
import {
  declaredDefault,
  declaresListType,
  definition,
  elementDefault,
  extensionsOf,
  kindsOf,
  referenceOf,
  unionOf,
} from '#/api/definitions.ts'
import type { Documentation } from '#/api/documentation.ts'
import type { GroupVersion, GroupVersionKind } from '#/api/resource.ts'
import type { AnySchema, Field, ListSchema, PatchStrategy, Schema, StructSchema } from '#/api/schema.ts'
import { shortNameOf } from './definition-names.ts'
import { describedReference, type Dialect, type JsonSchema } from './json-schema.ts'

export interface BuiltinOptions {
  readonly dialect: Dialect
  readonly documentation: Documentation
  /**
   * Group versions to include in x-kubernetes-group-version-kind of kinds that exist in many groups; all when
   * absent.
   */
  readonly homes?: readonly GroupVersion[]
  /** Definitions that differ from Kubernetes' or do not exist there, by full name. */
  readonly own?: ReadonlyMap<string, StructSchema>
}

/** Schema of a definition by full name; undefined for custom resources. */
export function builtinSchema(name: string, options: BuiltinOptions): JsonSchema | undefined {
  const schema = definitionNamed(name, options.own)
  return schema ? describeDefinition(name, schema, options) : scalarSchema(name, options.dialect)
}

function definitionNamed(
  name: string,
  own: BuiltinOptions['own'],
): ReturnType<typeof definition> | undefined {
  const shortName = shortNameOf(name)
  return own?.get(name) ?? (shortName === undefined ? undefined : definition(shortName))
}

/** The definitions referenced by a definition, without duplicates. */
export function referencesOf(name: string, own: BuiltinOptions['own']): readonly string[] {
  const schema = definitionNamed(name, own)
  if (schema?.type !== 'struct') return []
  return [...new Set([...schema.fields.values()].flatMap(field => referencesIn(field.schema)))]
}

function referencesIn(schema: Schema): readonly string[] {
  const own = referenceOf(schema)
  if (own !== undefined) return [own]
  if (schema.type === 'list') return referencesIn(schema.items)
  return schema.type === 'map' ? referencesIn(schema.values) : []
}

/** Types that are scalars in the API schema and definitions in OpenAPI. */
function scalarSchema(name: string, { version }: Dialect): JsonSchema | undefined {
  const text = { type: 'string' }
  switch (name) {
    case referenceOf({ type: 'quantity' }):
      return version === 2 ? text : { oneOf: [text, { type: 'number' }] }
    case referenceOf({ type: 'int-or-string' }):
      return { ...(version === 2 ? text : { oneOf: [{ type: 'integer' }, text] }), format: 'int-or-string' }
    case referenceOf({ type: 'string', format: 'date-time' }):
    case referenceOf({ type: 'string', format: 'date-time-micro' }):
      return { ...text, format: 'date-time' }
    default:
      return undefined
  }
}

/** Definitions of arbitrary JSON values that OpenAPI declares as objects. */
const openObjects: ReadonlySet<string> = new Set([
  'meta.v1.FieldsV1',
  'meta.v1.Patch',
  'runtime.RawExtension',
])

function describeDefinition(
  fullName: string,
  schema: StructSchema | AnySchema,
  options: BuiltinOptions,
): JsonSchema {
  const shortName = shortNameOf(fullName)
  const name = shortName ?? fullName
  const text = describe(options.documentation.describe(name))
  if (schema.type === 'any') return openObjects.has(name) ? { ...text, type: 'object' } : text
  const fields = [...schema.fields]
  const required = fields.filter(([, field]) => field.required).map(([key]) => key)
  const kinds = shortName === undefined ? [] : told(kindsOf(shortName), options)
  const union = unionOf(name)
  return {
    ...text,
    type: 'object',
    ...(required.length > 0 && { required }),
    ...(fields.length > 0 && {
      properties: Object.fromEntries(
        fields.map(([key, field]) => [key, describeField(field, { owner: name, name: key, options })]),
      ),
    }),
    ...(schema.atomic && { 'x-kubernetes-map-type': 'atomic' }),
    ...(kinds.length > 0 && { 'x-kubernetes-group-version-kind': kinds }),
    ...(union && { 'x-kubernetes-unions': [union] }),
  }
}

function told(kinds: readonly GroupVersionKind[], { homes }: BuiltinOptions): readonly GroupVersionKind[] {
  if (homes === undefined || kinds.length <= 1) return kinds
  return kinds.filter(({ group, version }) =>
    homes.some(home => home.group === group && home.version === version),
  )
}

interface Place {
  readonly owner: string
  readonly name: string
  readonly options: BuiltinOptions
}

function describeField(field: Field, { owner, name, options }: Place): JsonSchema {
  const { schema, patch } = field
  const { dialect, documentation } = options
  const target = referenceOf(schema)
  const text = documentation.describe(owner, name) || describeTarget(target, documentation)
  const more = {
    ...describe(text + describeEnum(schema)),
    ...describeDefault(dialect, declaredDefault(owner, name, field)),
    ...(schema.type === 'list' && declaresListType(owner, name) && describeList(schema)),
    ...(schema.type === 'struct' && describeOwnership(schema)),
    ...(patch && describePatch(patch)),
    ...extensionsOf(owner, name),
  }
  if (target === undefined) return { ...more, ...describeType(schema, dialect) }
  return describedReference(dialect, target, more)
}

/** Falls back to the description of the referenced type. */
function describeTarget(target: string | undefined, documentation: Documentation): string {
  const shortName = target === undefined ? undefined : shortNameOf(target)
  return shortName === undefined ? '' : documentation.describe(shortName)
}

function describe(text: string): JsonSchema {
  return text === '' ? {} : { description: text }
}

function describeEnum(schema: Schema): string {
  if (schema.type !== 'string' || !schema.enum) return ''
  return `\n\nPossible enum values:${schema.enum.map(value => `\n - \`"${value}"\``).join('')}`
}

/** Version 2 has no defaults: old clients would apply them when they validate. */
function describeDefault({ version }: Dialect, value: unknown): JsonSchema {
  return version === 2 || value === undefined ? {} : { default: value }
}

function describeType(schema: Schema, dialect: Dialect): JsonSchema {
  if (schema.type === 'list') return { type: 'array', items: describeElement(schema.items, dialect) }
  if (schema.type === 'map') {
    return {
      type: 'object',
      additionalProperties: describeElement(schema.values, dialect),
      ...(schema.atomic && { 'x-kubernetes-map-type': 'atomic' }),
    }
  }
  return {
    type: schema.type,
    ...('format' in schema && { format: schema.format }),
    ...('enum' in schema && { enum: schema.enum }),
  }
}

function describeElement(schema: Schema, dialect: Dialect): JsonSchema {
  const target = referenceOf(schema)
  const more = describeDefault(dialect, elementDefault(schema))
  if (target !== undefined) return describedReference(dialect, target, more)
  return { ...describeType(schema, dialect), ...more }
}

function describeList({ listType, keys }: ListSchema): JsonSchema {
  return {
    'x-kubernetes-list-type': listType,
    ...(keys.length > 0 && { 'x-kubernetes-list-map-keys': keys }),
  }
}

/** States x-kubernetes-map-type if the field's atomicity differs from that of its definition. */
function describeOwnership(schema: StructSchema): JsonSchema {
  const shortName = shortNameOf(schema.name)
  const declared = shortName === undefined ? undefined : definition(shortName)
  if (declared?.type !== 'struct' || declared.atomic === schema.atomic) return {}
  return { 'x-kubernetes-map-type': schema.atomic ? 'atomic' : 'granular' }
}

function describePatch({ merge, replace, retainKeys, mergeKey }: PatchStrategy): JsonSchema {
  const words = Object.entries({ merge, replace, retainKeys }).filter(([, isSet]) => isSet)
  return {
    'x-kubernetes-patch-strategy': words.map(([word]) => word).join(','),
    ...(mergeKey !== undefined && { 'x-kubernetes-patch-merge-key': mergeKey }),
  }
}
