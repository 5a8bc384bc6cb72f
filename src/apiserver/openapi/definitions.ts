/** Collects the definitions of a document: those that operations use, and all that they reference. */
import { definition } from '#/api/definitions.ts'
import type { Resource } from '#/api/resource.ts'
import type { Schema, StructSchema } from '#/api/schema.ts'
import { builtinSchema, referencesOf, type BuiltinOptions } from './builtin-schemas.ts'
import { customSchemas, type CustomOptions } from './custom-schemas.ts'
import { isBuiltin, shortNameOf } from './definition-names.ts'
import type { JsonSchema } from './json-schema.ts'
import { compareText, type Path } from './operation.ts'

export type DefinitionOptions = BuiltinOptions & CustomOptions

/** Sorted by name. */
export function definitionsFor(
  paths: readonly Path[],
  resources: readonly Resource[],
  options: DefinitionOptions,
): Readonly<Record<string, JsonSchema>> {
  const custom = new Map(
    resources.filter(each => !isBuiltin(each)).flatMap(each => [...customSchemas(each, options)]),
  )
  const own = ownDefinitions(resources)
  const found = new Map<string, JsonSchema>()
  const waiting = [...namesIn(paths)]
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const schema = found.has(name)
      ? undefined
      : (custom.get(name) ?? builtinSchema(name, { ...options, own }))
    if (schema === undefined) continue
    found.set(name, schema)
    waiting.push(...(custom.has(name) ? referencesIn(schema, options.dialect.root) : referencesOf(name, own)))
  }
  return Object.fromEntries([...found].sort(([left], [right]) => compareText(left, right)))
}

/**
 * Definitions extended by this server beyond Kubernetes', such as ObjectMeta with `initializers`; they are
 * the same in all kinds.
 */
function ownDefinitions(resources: readonly Resource[]): ReadonlyMap<string, StructSchema> {
  const own = new Map<string, StructSchema>()
  const add = (schema: Schema): void => {
    if (schema.type === 'list') add(schema.items)
    if (schema.type !== 'struct' || schema.name === '' || own.has(schema.name)) return
    const shortName = shortNameOf(schema.name)
    if (shortName !== undefined && definition(shortName) === schema) return
    own.set(schema.name, schema)
    for (const field of schema.fields.values()) add(field.schema)
  }
  for (const { schema } of resources) {
    const metadata = schema.fields.get('metadata')
    if (metadata) add(metadata.schema)
  }
  return own
}

function namesIn(paths: readonly Path[]): ReadonlySet<string> {
  const names = new Set<string>()
  for (const { operations } of paths) {
    for (const { body, responses } of operations) {
      if (body) names.add(body.definition)
      for (const name of Object.values(responses)) names.add(name)
    }
  }
  return names
}

/** References to definitions anywhere in a custom schema. */
function referencesIn(value: unknown, root: string): readonly string[] {
  if (typeof value !== 'object' || value === null) return []
  const target = '$ref' in value ? value.$ref : undefined
  if (typeof target === 'string' && target.startsWith(root)) return [target.slice(root.length)]
  return Object.values(value).flatMap(each => referencesIn(each, root))
}
