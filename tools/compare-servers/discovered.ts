/** The resources of a server, with their subresources, from aggregated discovery. */
export interface DiscoveredResource {
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly kind: string
  readonly isNamespaced: boolean
  readonly verbs: readonly string[]
  readonly subresources: readonly Subresource[]
}

export interface Subresource {
  readonly name: string
  readonly verbs: readonly string[]
  readonly kind: string
}

interface Document {
  readonly items: readonly {
    readonly metadata?: { readonly name?: string }
    readonly versions: readonly {
      readonly version: string
      readonly resources?: readonly ResourceItem[]
    }[]
  }[]
}

interface ResourceItem {
  readonly resource: string
  readonly responseKind?: { readonly kind?: string }
  readonly scope: string
  readonly verbs?: readonly string[]
  readonly subresources?: readonly {
    readonly subresource: string
    readonly verbs: readonly string[]
    readonly responseKind?: { readonly kind?: string }
  }[]
}

/** The resources that both servers have, as the first one describes them, and the labels of the others. */
export function commonResources(
  first: readonly unknown[],
  second: readonly unknown[],
): { readonly common: readonly DiscoveredResource[]; readonly others: readonly string[] } {
  const [left, right] = [readDiscovery(first), readDiscovery(second)]
  const [names, otherNames] = [new Set(left.map(labelOf)), new Set(right.map(labelOf))]
  const all = [...new Set([...names, ...otherNames])]
  return {
    common: left.filter(resource => otherNames.has(labelOf(resource))),
    others: all.filter(name => !names.has(name) || !otherNames.has(name)),
  }
}

/** All resources of the documents, each once, in a fixed order. */
function readDiscovery(documents: readonly unknown[]): readonly DiscoveredResource[] {
  const found = new Map<string, DiscoveredResource>()
  for (const { metadata, versions } of documents.flatMap(document => (document as Document).items)) {
    const group = metadata?.name ?? ''
    for (const { version, resources = [] } of versions) {
      for (const item of resources) {
        const resource = resourceOf({ group, version }, item)
        const key = labelOf(resource)
        if (!found.has(key)) found.set(key, resource)
      }
    }
  }
  return [...found.values()].sort((a, b) => (labelOf(a) < labelOf(b) ? -1 : 1))
}

function resourceOf(groupVersion: { readonly group: string; readonly version: string }, item: ResourceItem) {
  const { resource, responseKind, scope, verbs = [], subresources = [] } = item
  return {
    ...groupVersion,
    resource,
    kind: responseKind?.kind ?? '',
    isNamespaced: scope === 'Namespaced',
    verbs,
    subresources: subresources.map(({ subresource, verbs, responseKind }) => ({
      name: subresource,
      verbs,
      kind: responseKind?.kind ?? '',
    })),
  }
}

/** `v1/pods`, `apps/v1/deployments`. */
export function labelOf({ group, version, resource }: DiscoveredResource): string {
  return `${apiVersionOf({ group, version })}/${resource}`
}

export function apiVersionOf({ group, version }: Pick<DiscoveredResource, 'group' | 'version'>): string {
  return group === '' ? version : `${group}/${version}`
}

export interface PathOptions {
  /** Default: that of the tool for namespaced resources. */
  readonly namespace?: string
  readonly name?: string
  readonly subresource?: string
}

/** The namespace that the tool creates and removes. */
export const ownNamespace = 'compare-servers'

export function pathOf(resource: DiscoveredResource, options: PathOptions = {}): string {
  const { group, version, isNamespaced } = resource
  const { namespace = ownNamespace, name, subresource } = options
  const segments = [
    group === '' ? `/api/${version}` : `/apis/${group}/${version}`,
    ...(isNamespaced && namespace !== '' ? ['namespaces', namespace] : []),
    resource.resource,
    ...(name === undefined ? [] : [name]),
    ...(subresource === undefined ? [] : [subresource]),
  ]
  return segments.join('/')
}
