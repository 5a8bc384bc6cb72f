/**
 * Discovers the resources of a server, for components that handle all kinds, including custom resources that
 * are created at run time.
 */
import type { Resource, Scope, Verb } from '#/api/resource.ts'
import type { Client } from './client.ts'

export interface DiscoveredApi {
  /** Every resource once, in the server's preferred version among those that have it. */
  readonly resources: readonly Resource[]
  /** Versions of extension servers that do not answer, as in `apiVersion`. Their resources are not known. */
  readonly staleGroupVersions: readonly string[]
}

export async function discoverResources(client: Client, signal?: AbortSignal): Promise<readonly Resource[]> {
  return (await discoverApi(client, signal)).resources
}

export async function discoverApi(client: Client, signal?: AbortSignal): Promise<DiscoveredApi> {
  const documents = await Promise.all(['/api', '/apis'].map(path => discover(client, path, signal)))
  const found = new Map<string, Resource>()
  const staleGroupVersions: string[] = []
  for (const group of documents.flatMap(document => document.items ?? [])) {
    for (const version of group.versions ?? []) {
      if (version.freshness === 'Stale') {
        staleGroupVersions.push(`${group.metadata?.name ?? ''}/${version.version}`)
        continue
      }
      for (const resource of version.resources ?? []) {
        const key = `${resource.resource}.${group.metadata?.name ?? ''}`
        if (!found.has(key)) found.set(key, resourceOf(group.metadata?.name ?? '', version.version, resource))
      }
    }
  }
  return { resources: [...found.values()], staleGroupVersions }
}

async function discover(client: Client, path: string, signal?: AbortSignal): Promise<GroupList> {
  const response = await client.raw({ method: 'GET', path, headers: { accept: aggregatedDiscovery }, signal })
  return (await response.value()) as GroupList
}

const aggregatedDiscovery = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

interface GroupList {
  readonly items?: readonly {
    readonly metadata?: { readonly name?: string }
    readonly versions?: readonly {
      readonly version: string
      readonly freshness?: 'Current' | 'Stale'
      readonly resources?: readonly DiscoveredResource[]
    }[]
  }[]
}

interface DiscoveredResource {
  readonly resource: string
  readonly singularResource?: string
  readonly scope: 'Namespaced' | 'Cluster'
  readonly verbs?: readonly string[]
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
  readonly responseKind?: { readonly group?: string; readonly version?: string; readonly kind: string }
}

/** The schema is that of any object: discovery has no field information. */
function resourceOf(group: string, version: string, discovered: DiscoveredResource): Resource {
  const { resource, singularResource, scope, verbs = [], shortNames = [], categories = [] } = discovered
  return {
    group,
    version,
    kind: discovered.responseKind?.kind ?? '',
    plural: resource,
    singular: singularResource ?? resource,
    scope: scope satisfies Scope,
    shortNames,
    categories,
    verbs: verbs as readonly Verb[],
    schema: anyObject,
    subresources: new Map(),
    storage: { group, version },
  }
}

const anyObject: Resource['schema'] = {
  type: 'struct',
  name: '',
  fields: new Map(),
  atomic: false,
  preserveUnknownFields: true,
}
