import { get, isObject, type JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import type { Schema } from '#/api/schema.ts'
import { textOf } from '../documents/value.ts'

/** What a strategic merge needs to know about a value. */
export interface MergeSchema {
  field(name: string): MergeSchema | undefined
  items(): MergeSchema | undefined
  /** Keys by which the items of a list are merged, none for scalars; undefined for a list that is replaced. */
  readonly mergeKeys: readonly string[] | undefined
}

/** The schemas of kinds; undefined for kinds without one, whose lists are replaced. */
export type KindSchemas = (apiVersion: string, kind: string) => MergeSchema | undefined

/** The schemas of Kubernetes' kinds, loaded on first use. */
export async function loadBuiltInSchemas(): Promise<KindSchemas> {
  const { kindDefinition } = await import('#/api/definitions.ts')
  return (apiVersion, kind) => {
    const schema = kindDefinition(currentVersions.get(apiVersion) ?? apiVersion, kind)
    return schema && builtInSchema(schema, undefined)
  }
}

/** Former versions whose kinds have pods. */
const currentVersions: ReadonlyMap<string, string> = new Map([['batch/v1beta1', 'batch/v1']])

/** Merged lists that were added to Kubernetes after 1.21, whose API kustomize knows: it replaces them. */
const replacedLists: ReadonlySet<string> = new Set([
  'matchConditions',
  'resourceClaims',
  'schedulingGates',
  'variables',
])

function builtInSchema(schema: Schema, mergeKeys: MergeSchema['mergeKeys']): MergeSchema {
  return {
    mergeKeys,
    items: () => (schema.type === 'list' ? builtInSchema(schema.items, undefined) : undefined),
    field: name => {
      if (schema.type === 'map') return builtInSchema(schema.values, undefined)
      const field = schema.type === 'struct' ? schema.fields.get(name) : undefined
      if (field === undefined) return undefined
      const { patch } = field
      if (!patch?.merge || replacedLists.has(name)) return builtInSchema(field.schema, undefined)
      const keys = field.schema.type === 'list' ? field.schema.keys : []
      const single = patch.mergeKey === undefined ? [] : [patch.mergeKey]
      return builtInSchema(field.schema, keys.length > 0 ? keys : single)
    },
  }
}

/** The schemas of an OpenAPI document, the file of `openapi.path`. */
export function openApiSchemas(document: JsonObject): KindSchemas {
  const definitions = member(document, 'definitions')
  const kinds = new Map<string, JsonValue>()
  for (const definition of Object.values(definitions)) {
    const declared = isObject(definition) ? get(definition, 'x-kubernetes-group-version-kind') : undefined
    for (const each of Array.isArray(declared) ? declared : []) {
      if (!isObject(each)) continue
      const [group, version, kind] = ['group', 'version', 'kind'].map(key => textOf(get(each, key)))
      kinds.set(`${group ? `${group}/` : ''}${version} ${kind}`, definition)
    }
  }
  return (apiVersion, kind) => openApiSchema(definitions, kinds.get(`${apiVersion} ${kind}`))
}

function openApiSchema(definitions: JsonObject, reference: JsonValue | undefined): MergeSchema | undefined {
  const schema = resolve(definitions, reference)
  if (schema === undefined) return undefined
  const strategies = textOf(get(schema, 'x-kubernetes-patch-strategy')).split(',')
  const keys = get(schema, 'x-kubernetes-list-map-keys')
  const single = get(schema, 'x-kubernetes-patch-merge-key')
  const list = Array.isArray(keys) ? keys.map(key => textOf(key)) : typeof single === 'string' ? [single] : []
  return {
    mergeKeys: strategies.includes('merge') ? list : undefined,
    items: () => openApiSchema(definitions, get(schema, 'items')),
    field: name =>
      openApiSchema(
        definitions,
        get(member(schema, 'properties'), name) ?? get(schema, 'additionalProperties'),
      ),
  }
}

/** Maximum length of a chain of references. */
const referencesMax = 100

function resolve(definitions: JsonObject, schema: JsonValue | undefined): JsonObject | undefined {
  let resolved = schema
  for (let step = 0; step < referencesMax && isObject(resolved); step++) {
    const reference = get(resolved, '$ref')
    if (typeof reference !== 'string') return resolved
    resolved = get(definitions, reference.replace('#/definitions/', ''))
  }
  return undefined
}

function member(object: JsonObject, key: string): JsonObject {
  const found = get(object, key)
  return isObject(found) ? found : {}
}
