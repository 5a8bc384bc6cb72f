/**
 * A kind as a value: everything the API server, clients and tools need to know of a resource in one version.
 * Built-in kinds come from the generated table, custom ones from their definition; nothing downstream can
 * tell them apart.
 */
import type { KindRules } from './kind-rules.ts'
import type { KubernetesObject } from './metadata.ts'
import type { StructSchema } from './schema.ts'
import type { KindColumns } from './table-columns.ts'

export interface Resource<T extends KubernetesObject = KubernetesObject> {
  /** Empty for the core group. */
  readonly group: string
  readonly version: string
  readonly kind: string
  /** Absent when the resource cannot be listed. */
  readonly listKind?: string
  readonly plural: string
  readonly singular: string
  readonly scope: Scope
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  readonly verbs: readonly Verb[]
  readonly schema: StructSchema
  readonly subresources: ReadonlyMap<string, Subresource>
  /** The group and version in which objects are stored, one for all versions of a kind. */
  readonly storage: GroupVersion
  /** What the kind means beyond its fields. Its functions take objects of this kind and of no other. */
  readonly rules?: KindRules<never>
  /** How objects of the kind look in a table; name and age when absent. */
  readonly columns?: KindColumns<never>
  /** Never there: it carries the type of the objects. */
  readonly object?: T
}

export type Scope = 'Namespaced' | 'Cluster'

export type Verb = 'create' | 'delete' | 'deletecollection' | 'get' | 'list' | 'patch' | 'update' | 'watch'

/** A part or an action of an object with a path of its own, and the kind spoken there. */
export interface Subresource extends GroupVersionKind {
  readonly name: string
  readonly verbs: readonly Verb[]
}

export interface GroupVersion {
  readonly group: string
  readonly version: string
}

export interface GroupVersionKind extends GroupVersion {
  readonly kind: string
}

export interface GroupVersionResource extends GroupVersion {
  /** The plural. */
  readonly resource: string
}

/** Whether the kind is none of Kubernetes' own: its schema is no definition of theirs. */
export function isCustomKind({ schema }: Pick<Resource, 'schema'>): boolean {
  return schema.name === ''
}

/** What objects of the group and version carry: `v1`, `apps/v1`. */
export function apiVersionOf({ group, version }: GroupVersion): string {
  return group === '' ? version : `${group}/${version}`
}
