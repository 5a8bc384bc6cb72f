/** The documents of Kubernetes' discovery API, which the discovery cache of kubectl contains. */
import type { Verb } from '#/api/resource.ts'

/** `servergroups.json`. */
export interface ApiGroupList {
  readonly kind: 'APIGroupList'
  readonly apiVersion: 'v1'
  readonly groups: readonly ApiGroup[]
}

export interface ApiGroup {
  /** Empty for the core group. */
  readonly name: string
  readonly versions: readonly GroupVersionForDiscovery[]
  readonly preferredVersion: GroupVersionForDiscovery
}

export interface GroupVersionForDiscovery {
  readonly groupVersion: string
  readonly version: string
}

/** `GROUP/VERSION/serverresources.json`. */
export interface ApiResourceList {
  readonly kind: 'APIResourceList'
  readonly apiVersion: 'v1'
  readonly groupVersion: string
  readonly resources: readonly ApiResource[]
}

export interface ApiResource {
  /** `pods`, or `pods/log` for a subresource. */
  readonly name: string
  readonly singularName: string
  readonly namespaced: boolean
  readonly kind: string
  /** Of the kind, if they are not those of the list. */
  readonly group?: string
  readonly version?: string
  readonly verbs: readonly Verb[]
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
}

/** The response to a request for aggregated discovery. */
export interface ApiGroupDiscoveryList {
  readonly items?: readonly {
    readonly metadata?: { readonly name?: string }
    readonly versions?: readonly ApiVersionDiscovery[]
  }[]
}

export interface ApiVersionDiscovery {
  readonly version: string
  readonly freshness?: 'Current' | 'Stale'
  readonly resources?: readonly ApiResourceDiscovery[]
}

interface ApiResourceDiscovery {
  readonly resource: string
  readonly singularResource?: string
  readonly scope: 'Namespaced' | 'Cluster'
  readonly verbs?: readonly Verb[]
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
  readonly responseKind?: GroupVersionKindDiscovery
  readonly subresources?: readonly {
    readonly subresource: string
    readonly verbs?: readonly Verb[]
    readonly responseKind?: GroupVersionKindDiscovery
  }[]
}

interface GroupVersionKindDiscovery {
  readonly group?: string
  readonly version?: string
  readonly kind: string
}

/** The same content in the form of the older documents. */
export function resourceListOf(
  group: string,
  { version, resources = [] }: ApiVersionDiscovery,
): ApiResourceList {
  const groupVersion = group === '' ? version : `${group}/${version}`
  const kindOf = (kind: GroupVersionKindDiscovery | undefined) => ({
    kind: kind?.kind ?? '',
    ...(kind && (kind.group ?? '') !== group && { group: kind.group ?? '' }),
    ...(kind?.version !== undefined && kind.version !== version && { version: kind.version }),
  })
  const listed = resources.flatMap((resource): readonly ApiResource[] => {
    const namespaced = resource.scope === 'Namespaced'
    const { shortNames, categories, subresources = [] } = resource
    const main: ApiResource = {
      name: resource.resource,
      singularName: resource.singularResource ?? '',
      namespaced,
      ...kindOf(resource.responseKind),
      verbs: resource.verbs ?? [],
      ...(shortNames && { shortNames }),
      ...(categories && { categories }),
    }
    return [
      main,
      ...subresources.map(each => ({
        name: `${resource.resource}/${each.subresource}`,
        singularName: resource.singularResource ?? '',
        namespaced,
        ...kindOf(each.responseKind),
        verbs: each.verbs ?? [],
      })),
    ]
  })
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources: listed }
}
