/** Unaggregated discovery: the APIResourceList of a group and version. */
import { createHash } from 'node:crypto'
import { apiVersionOf, type GroupVersion, type Resource, type Subresource } from '#/api/resource.ts'

export interface ApiResourceList {
  readonly kind: 'APIResourceList'
  readonly apiVersion?: 'v1'
  readonly groupVersion: string
  readonly resources: readonly ApiResource[]
}

export interface ApiResource {
  readonly name: string
  readonly singularName: string
  readonly namespaced: boolean
  readonly group?: string
  readonly version?: string
  readonly kind: string
  readonly verbs: readonly string[]
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
  readonly storageVersionHash?: string
}

/** Undefined if the group version has no resources. */
export function resourceList(
  home: GroupVersion,
  resources: readonly Resource[],
): ApiResourceList | undefined {
  if (resources.length === 0) return undefined
  return {
    kind: 'APIResourceList',
    // The list of the core group has no apiVersion, as in Kubernetes.
    ...(home.group !== '' && { apiVersion: 'v1' }),
    groupVersion: apiVersionOf(home),
    resources: resources.flatMap(member => [
      describeResource(member),
      ...[...member.subresources.values()].map(part => describeSubresource(member, part)),
    ]),
  }
}

function describeResource(resource: Resource): ApiResource {
  const { plural, singular, scope, kind, verbs, shortNames, categories } = resource
  return {
    name: plural,
    singularName: singular,
    namespaced: scope === 'Namespaced',
    kind,
    verbs,
    ...(shortNames.length > 0 && { shortNames }),
    ...(categories.length > 0 && { categories }),
    ...(isStored(resource) && { storageVersionHash: storageVersionHash(resource) }),
  }
}

function describeSubresource(
  parent: Resource,
  { name, verbs, ...groupVersionKind }: Subresource,
): ApiResource {
  const isElsewhere = groupVersionKind.group !== parent.group || groupVersionKind.version !== parent.version
  return {
    name: `${parent.plural}/${name}`,
    singularName: '',
    namespaced: parent.scope === 'Namespaced',
    ...(isElsewhere && { group: groupVersionKind.group, version: groupVersionKind.version }),
    kind: groupVersionKind.kind,
    verbs,
  }
}

/** Resources with `watch` are stored; reviews, for example, are not. */
function isStored({ verbs }: Resource): boolean {
  return verbs.includes('watch')
}

/** Changes if the storage version of the resource changes. */
function storageVersionHash({ storage, hashedVersion = storage.version, kind }: Resource): string {
  const name = `${storage.group}/${hashedVersion}/${kind}`
  return createHash('sha256').update(name).digest().subarray(0, 8).toString('base64')
}
