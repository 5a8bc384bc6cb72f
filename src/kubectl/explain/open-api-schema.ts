import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'

/** A schema of an OpenAPI document, reduced to what `explain` shows. */
export interface OpenApiSchema {
  readonly ref: string
  readonly type: string
  readonly description: string
  /** Sorted by name. */
  readonly properties: ReadonlyMap<string, JsonObject>
  readonly required: readonly string[]
  readonly items?: JsonObject
  readonly additionalProperties?: JsonObject
  readonly allOf: readonly JsonObject[]
  readonly enum: readonly JsonValue[]
  readonly externalDocs?: JsonObject
}

export function readSchema(schema: JsonObject): OpenApiSchema {
  const { items, additionalProperties, externalDocs, properties, allOf, required } = schema
  const text = (name: string): string => (typeof schema[name] === 'string' ? schema[name] : '')
  const fields = Object.entries(isObject(properties) ? properties : {})
    .filter((entry): entry is [string, JsonObject] => isObject(entry[1]))
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return {
    ref: text('$ref'),
    type: text('type'),
    description: text('description'),
    properties: new Map(fields),
    required: Array.isArray(required) ? required.filter(each => typeof each === 'string') : [],
    ...(isObject(items) && { items }),
    ...(isObject(additionalProperties) && { additionalProperties }),
    allOf: Array.isArray(allOf) ? allOf.filter(isObject) : [],
    enum: Array.isArray(schema['enum']) ? schema['enum'] : [],
    ...(isObject(externalDocs) && { externalDocs }),
  }
}

/** What a reference like `#/components/schemas/io.k8s.api.core.v1.Pod` names. Undefined if it is unknown. */
export function resolveReference(document: JsonObject, ref: string): JsonObject | undefined {
  if (!ref.startsWith('#/')) return undefined
  let current: JsonValue | undefined = document
  for (const part of ref.slice(2).split('/')) {
    if (!isObject(current)) return undefined
    current = current[part.replaceAll('~1', '/').replaceAll('~0', '~')]
  }
  return isObject(current) ? current : undefined
}

const kindExtension = 'x-kubernetes-group-version-kind'

export interface SchemaKind {
  readonly group: string
  readonly version: string
  readonly kind: string
}

/** The kinds that a schema or an operation has. */
export function kindsIn(value: JsonObject): readonly SchemaKind[] {
  const kinds = value[kindExtension]
  const all = Array.isArray(kinds) ? kinds.filter(isObject) : isObject(kinds) ? [kinds] : []
  const text = (each: JsonValue | undefined): string => (typeof each === 'string' ? each : '')
  return all.map(each => ({
    group: text(each['group']),
    version: text(each['version']),
    kind: text(each['kind']),
  }))
}

/** The schema of a kind among schemas by name. */
export function findSchema(schemas: JsonValue | undefined, wanted: SchemaKind): JsonObject | undefined {
  const candidates = Object.entries(isObject(schemas) ? schemas : {}).sort(([a], [b]) => (a < b ? -1 : 1))
  for (const [, schema] of candidates) {
    if (isObject(schema) && kindsIn(schema).some(each => isSameKind(each, wanted))) return schema
  }
  return undefined
}

function isSameKind(a: SchemaKind, b: SchemaKind): boolean {
  return a.group === b.group && a.version === b.version && a.kind === b.kind
}
