/** Names of definitions: `io.k8s.api.core.v1.Pod`, `com.example.stable.v1.CronTab`. */
import { assert } from '#/base/assert.ts'
import { definition, definitionNames, kindsOf } from '#/api/definitions.ts'
import type { GroupVersionKind, Resource } from '#/api/resource.ts'

/** Short name (`core.v1.Pod`) of a built-in definition; undefined if there is none. */
export function shortNameOf(name: string): string | undefined {
  shortNames ??= new Map(definitionNames().map(each => [fullName(each), each]))
  return shortNames.get(name)
}

let shortNames: ReadonlyMap<string, string> | undefined

export function isBuiltin({ schema }: Resource): boolean {
  return shortNameOf(schema.name) !== undefined
}

export function definitionOf(resource: Resource): string {
  return isBuiltin(resource) ? resource.schema.name : customName(resource)
}

export function listDefinitionOf(resource: Resource): string {
  const { kind, listKind = `${kind}List` } = resource
  return definitionOf(resource).slice(0, -kind.length) + listKind
}

/** Definition name of a subresource's kind. */
export function definitionOfKind(kind: GroupVersionKind): string {
  const known = definitionNames().find(
    name =>
      name.endsWith(`.${kind.version}.${kind.kind}`) &&
      kindsOf(name).some(({ group }) => group === kind.group),
  )
  return known === undefined ? customName(kind) : fullName(known)
}

export function metaDefinition(kind: string): string {
  return fullName(`meta.v1.${kind}`)
}

export function fullName(shortName: string): string {
  const { name } = definition(shortName)
  assert(name !== undefined, 'every definition has a name')
  return name
}

/** Reverses the group, as in package names. */
function customName({ group, version, kind }: GroupVersionKind): string {
  return [...group.split('.').reverse(), version, kind].join('.')
}
