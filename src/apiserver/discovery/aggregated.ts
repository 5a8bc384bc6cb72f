/**
 * Aggregated discovery: all groups, versions and resources in one document. See
 * https://kubernetes.io/docs/concepts/overview/kubernetes-api/#aggregated-discovery
 */
import { isCustomKind, type GroupVersionKind, type Resource } from '#/api/resource.ts'
import { acceptedRanges } from '../negotiation.ts'
import { chunkOf, listDocument, type Chunk, type Document } from './document.ts'
import type { ServedGroup, ServedVersion } from './served-groups.ts'

/** Stale if the document of an extension server could not be read; its resources are then the last known. */
export type Freshness = 'Current' | 'Stale'

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

export function aggregatedDiscovery(groups: readonly ServedGroup[], root: Root): Document {
  return listDocument({
    mediaType: aggregatedMediaType('v2'),
    head: '{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[',
    items: groups.filter(({ name }) => (name === '') === (root === 'api')).map(chunkOfGroup),
    tail: ']}',
  })
}

/** Computed once: the document is read after each change, and most groups are the same then. */
function chunkOfGroup(group: ServedGroup): Chunk {
  return chunksOfGroups.getOrInsertComputed(group, ({ name, versions }) => {
    const metadata = JSON.stringify(name === '' ? {} : { name })
    return chunkOf(`,{"metadata":${metadata},"versions":[${versions.map(textOfVersion).join()}]}`)
  })
}

const chunksOfGroups = new WeakMap<ServedGroup, Chunk>()

function textOfVersion({ version, resources, extension }: ServedVersion): string {
  const described = extension ? extension.resources : resources.map(describe)
  const freshness = extension?.freshness ?? 'Current'
  return JSON.stringify({ version, ...(described.length > 0 && { resources: described }), freshness })
}

/** Extension servers may know only the version that this server does not serve. */
export function aggregatedMediaType(version: 'v2' | 'v2beta1'): string {
  return `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`
}

/** True if the Accept header prefers aggregated discovery. */
export function prefersAggregated(accept: string | undefined): boolean {
  for (const { name, parameters } of acceptedRanges(accept ?? '')) {
    const kind = parameters.get('as')
    if (kind === undefined) return false
    const isAsked =
      name === 'application/json' &&
      kind === 'APIGroupDiscoveryList' &&
      parameters.get('g') === 'apidiscovery.k8s.io' &&
      parameters.get('v') === 'v2'
    if (isAsked) return true
  }
  return false
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

/** Group and version of built-in resources are omitted if they equal those of the resource. */
function responseKind(home: Resource, { group, version, kind }: GroupVersionKind): GroupVersionKind {
  const isHome = !isCustomKind(home) && group === home.group && version === home.version
  return isHome ? { group: '', version: '', kind } : { group, version, kind }
}
