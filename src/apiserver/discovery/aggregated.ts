/**
 * Aggregated discovery: all groups, versions and resources in one document. See
 * https://kubernetes.io/docs/concepts/overview/kubernetes-api/#aggregated-discovery
 */
import type { GroupVersionKind, Resource } from '#/api/resource.ts'
import { acceptedRanges } from '../negotiation.ts'
import type { ServedGroup, ServedVersion } from './served-groups.ts'

export type AggregatedVersion = 'v2' | 'v2beta1'

export interface ApiGroupDiscoveryList {
  readonly kind: 'APIGroupDiscoveryList'
  readonly apiVersion: `apidiscovery.k8s.io/${AggregatedVersion}`
  readonly metadata: object
  readonly items: readonly GroupDiscovery[]
}

/** Stale if the document of an extension server could not be read; its resources are then the last known. */
export type Freshness = 'Current' | 'Stale'

interface GroupDiscovery {
  readonly metadata: { readonly name?: string }
  readonly versions: readonly VersionDiscovery[]
}

interface VersionDiscovery {
  readonly version: string
  readonly resources: readonly ResourceDiscovery[]
  readonly freshness: Freshness
}

export interface ResourceDiscovery {
  readonly resource: string
  readonly responseKind: GroupVersionKind
  readonly scope: string
  readonly singularResource: string
  readonly verbs: readonly string[]
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
  readonly subresources?: readonly SubresourceDiscovery[]
}

export interface SubresourceDiscovery {
  readonly subresource: string
  readonly responseKind: GroupVersionKind
  readonly verbs: readonly string[]
}

/** `/api` serves the core group, `/apis` all others. */
export type Root = 'api' | 'apis'

export function aggregatedDiscovery(
  groups: readonly ServedGroup[],
  root: Root,
  version: AggregatedVersion,
): ApiGroupDiscoveryList {
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: `apidiscovery.k8s.io/${version}`,
    metadata: {},
    items: groups
      .filter(({ name }) => (name === '') === (root === 'api'))
      .map(({ name, versions }) => ({
        metadata: name === '' ? {} : { name },
        versions: versions.map(describeVersion),
      })),
  }
}

function describeVersion({ version, resources, extension }: ServedVersion): VersionDiscovery {
  if (extension) return { version, resources: extension.resources, freshness: extension.freshness }
  return { version, resources: resources.map(describe), freshness: 'Current' }
}

export function aggregatedMediaType(version: AggregatedVersion): string {
  return `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`
}

/**
 * The aggregated discovery version that the Accept header prefers; undefined if it prefers the unaggregated
 * format.
 */
export function aggregatedVersion(accept: string | undefined): AggregatedVersion | undefined {
  for (const { name, parameters } of acceptedRanges(accept ?? '')) {
    const kind = parameters.get('as')
    if (kind === undefined) return undefined
    const version = parameters.get('v')
    const isAsked =
      name === 'application/json' &&
      kind === 'APIGroupDiscoveryList' &&
      parameters.get('g') === 'apidiscovery.k8s.io'
    if (isAsked && (version === 'v2' || version === 'v2beta1')) return version
  }
  return undefined
}

function describe(resource: Resource): ResourceDiscovery {
  const { plural, singular, scope, kind, verbs, shortNames, categories, subresources } = resource
  return {
    resource: plural,
    responseKind: responseKind(resource, { group: resource.group, version: resource.version, kind }),
    scope,
    singularResource: singular,
    verbs,
    ...(shortNames.length > 0 && { shortNames }),
    ...(categories.length > 0 && { categories }),
    ...(subresources.size > 0 && {
      subresources: [...subresources.values()].map(({ name, verbs, ...groupVersionKind }) => ({
        subresource: name,
        responseKind: responseKind(resource, groupVersionKind),
        verbs,
      })),
    }),
  }
}

/** Group and version are omitted if they equal those of the resource. */
function responseKind(home: Resource, { group, version, kind }: GroupVersionKind): GroupVersionKind {
  const isHome = group === home.group && version === home.version
  return isHome ? { group: '', version: '', kind } : { group, version, kind }
}
