/**
 * The built-in resources of Kubernetes. Code normally uses the typed constants (`import { pods } from
 * '#/api/generated/core/v1-resources.ts'`), which are looked up in this table.
 */
import { assert } from '#/base/assert.ts'
import { structDefinition } from './definitions.ts'
import table from './generated/resources.json' with { type: 'json' }
import { kindColumnsOf } from './kinds/columns.ts'
import { groups } from './kinds/groups.ts'
import { rulesOf } from './kinds/rules.ts'
import type { KubernetesObject } from './metadata.ts'
import type {
  GroupVersion,
  GroupVersionKind,
  GroupVersionResource,
  Resource,
  Scope,
  Verb,
} from './resource.ts'

/** Includes kinds that are not resources but are posted to one. */
export { rulesOf as kindRulesOf } from './kinds/rules.ts'

/** A resource in the generated table. */
export interface BuiltinRow {
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly kind: string
  readonly listKind?: string
  /** `core.v1.Pod`. */
  readonly definition: string
  readonly scope: Scope
  /** Space-separated. */
  readonly verbs: string
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
  readonly subresources: readonly SubresourceRow[]
  readonly storage: GroupVersion
  readonly hashedVersion?: string
  readonly enabledByDefault: boolean
}

export interface SubresourceRow extends GroupVersionKind {
  readonly name: string
  readonly verbs: string
}

export interface BuiltinResource extends Resource {
  /** True if the API server serves it without `--runtime-config`; false for alpha and beta versions. */
  readonly enabledByDefault: boolean
}

/**
 * Returns a resource by name. The caller is responsible for the object type `T`, as in the generated
 * constants.
 */
export function resourceOf<T extends KubernetesObject>(key: GroupVersionResource): Resource<T> {
  const resource = resources.get(keyOf(key))
  assert(resource, `unknown built-in resource ${keyOf(key)}`)
  return resource as Resource as Resource<T>
}

/** All resources in discovery order. */
export function builtinResources(): readonly BuiltinResource[] {
  return [...resources.values()]
}

/** The resources served by default. */
export function defaultResources(): readonly BuiltinResource[] {
  return [...resources.values()].filter(resource => resource.enabledByDefault)
}

/** True if the group is built into Kubernetes; all other groups are custom. */
export function isBuiltinGroup(group: string): boolean {
  return builtinGroups.has(group)
}

const builtinGroups: ReadonlySet<string> = new Set(groups.map(group => group.name))

function readRow(row: BuiltinRow): BuiltinResource {
  const { definition, verbs, subresources, shortNames = [], categories = [], ...rest } = row
  const columns = kindColumnsOf(row.group, row.kind)
  const rules = rulesOf(row.group, row.kind)
  return {
    ...rest,
    singular: row.kind.toLowerCase(),
    shortNames,
    categories,
    verbs: readVerbs(verbs),
    schema: structDefinition(definition),
    subresources: new Map(subresources.map(each => [each.name, { ...each, verbs: readVerbs(each.verbs) }])),
    ...(columns && { columns }),
    ...(rules && { rules }),
  }
}

function readVerbs(text: string): readonly Verb[] {
  return text.split(' ') as Verb[]
}

function keyOf({ group, version, resource }: GroupVersionResource): string {
  return `${group}/${version}/${resource}`
}

const resources: ReadonlyMap<string, BuiltinResource> = new Map(
  (table as readonly BuiltinRow[]).map(row => [
    keyOf({ group: row.group, version: row.version, resource: row.plural }),
    readRow(row),
  ]),
)
