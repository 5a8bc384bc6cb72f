/**
 * A resource in one version, as a value: all that the API server, clients and tools need. Built-in resources
 * come from the generated table, custom ones from their CustomResourceDefinition; consumers treat both the
 * same.
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
  /** Absent if the resource cannot be listed. */
  readonly listKind?: string
  readonly plural: string
  readonly singular: string
  readonly scope: Scope
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  readonly verbs: readonly Verb[]
  readonly schema: StructSchema
  readonly subresources: ReadonlyMap<string, Subresource>
  /** Storage version, the same for all versions of a kind. */
  readonly storage: GroupVersion
  /** Version in the `storageVersionHash`, if it is not the storage version. */
  readonly hashedVersion?: string
  /** Rules of the kind. Its functions must be called only with objects of this kind. */
  readonly rules?: KindRules<never>
  /** Table columns; Name and Age if absent. */
  readonly columns?: KindColumns<never>
  /** Never set: carries the object type for the compiler. */
  readonly object?: T
}

export type Scope = 'Namespaced' | 'Cluster'

export type Verb = 'create' | 'delete' | 'deletecollection' | 'get' | 'list' | 'patch' | 'update' | 'watch'

/** A subresource with the kind of its requests and responses. */
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
  /** Plural name. */
  readonly resource: string
}

/** True if the schema is not one of Kubernetes' definitions. */
export function isCustomKind({ schema }: Pick<Resource, 'schema'>): boolean {
  return schema.name === ''
}

/** `pods`, `deployments.apps`. */
export function qualifiedResourceName({ group, plural }: Pick<Resource, 'group' | 'plural'>): string {
  return group === '' ? plural : `${plural}.${group}`
}

/** The `apiVersion` of a group and version: `v1`, `apps/v1`. */
export function apiVersionOf({ group, version }: GroupVersion): string {
  return group === '' ? version : `${group}/${version}`
}
