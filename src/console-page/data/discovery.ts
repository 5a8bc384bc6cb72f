import { signal } from '@preact/signals'
import { getJson } from './api-request.ts'
import type { ApiResource } from './api-resource.ts'
import { errorText } from './api-error.ts'

interface Discovery {
  readonly phase: 'loading' | 'ready' | 'failed'
  /** Preferred versions only; the core group first. */
  readonly resources: readonly ApiResource[]
  readonly message: string
}

export const discovery = signal<Discovery>({ phase: 'loading', resources: [], message: '' })

const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

/** Reads which resources the API server serves, custom resources included. */
export async function discover(): Promise<void> {
  try {
    const lists = await Promise.all([
      getJson<GroupList>('/api', { accept }),
      getJson<GroupList>('/apis', { accept }),
    ])
    const resources = lists.flatMap(({ items }) => items.flatMap(resourcesOf))
    discovery.value = { phase: 'ready', resources, message: '' }
  } catch (error) {
    discovery.value = { ...discovery.peek(), phase: 'failed', message: errorText(error) }
  }
}

/** APIGroupDiscoveryList. */
interface GroupList {
  readonly items: readonly Group[]
}

interface Group {
  readonly metadata: { readonly name?: string }
  readonly versions: readonly { readonly version: string; readonly resources?: readonly Entry[] }[]
}

interface Entry {
  readonly resource: string
  readonly responseKind?: { readonly kind: string }
  readonly scope: 'Namespaced' | 'Cluster'
  readonly singularResource: string
  readonly verbs: readonly string[]
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
  readonly subresources?: readonly { readonly subresource: string }[]
}

/** Each resource in the first version that has it: the versions are in order of preference. */
function resourcesOf({ metadata, versions }: Group): ApiResource[] {
  const found = new Map<string, ApiResource>()
  for (const { version, resources = [] } of versions) {
    for (const entry of resources) {
      if (found.has(entry.resource)) continue
      found.set(entry.resource, {
        group: metadata.name ?? '',
        version,
        resource: entry.resource,
        singular: entry.singularResource,
        kind: entry.responseKind?.kind ?? entry.resource,
        namespaced: entry.scope === 'Namespaced',
        verbs: entry.verbs,
        shortNames: entry.shortNames ?? [],
        categories: entry.categories ?? [],
        subresources: entry.subresources?.map(each => each.subresource) ?? [],
      })
    }
  }
  return [...found.values()]
}
