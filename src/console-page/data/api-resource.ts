/** A resource that the API server serves, as discovery describes it. */
export interface ApiResource {
  /** Empty for the core group. */
  readonly group: string
  readonly version: string
  /** Plural, in the path: `deployments`. */
  readonly resource: string
  readonly singular: string
  readonly kind: string
  readonly namespaced: boolean
  readonly verbs: readonly string[]
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  readonly subresources: readonly string[]
}

/** As kubectl accepts it: `pods`, `deployments.apps`. */
export function resourceId({ resource, group }: Pick<ApiResource, 'resource' | 'group'>): string {
  return group === '' ? resource : `${resource}.${group}`
}

/** The path of a list, over all namespaces if the namespace is empty. */
export function listPath(resource: ApiResource, namespace = ''): string {
  const { group, version } = resource
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
  const within = resource.namespaced && namespace !== '' ? `/namespaces/${encodeURIComponent(namespace)}` : ''
  return `${root}${within}/${resource.resource}`
}

export function objectPath(resource: ApiResource, { namespace, name }: ObjectKey): string {
  return `${listPath(resource, namespace)}/${encodeURIComponent(name)}`
}

export interface ObjectKey {
  /** Empty for objects that are in no namespace. */
  readonly namespace: string
  readonly name: string
}

/**
 * Finds a resource by what users type: plural, singular, kind or short name, optionally with the group. The core group
 * and groups of Kubernetes come first.
 */
export function findResource(resources: readonly ApiResource[], typed: string): ApiResource | undefined {
  const [name = '', ...rest] = typed.toLowerCase().split('.')
  const group = rest.join('.')
  const named = resources.filter(each => group === '' || each.group === group)
  const matches: readonly ((each: ApiResource) => boolean)[] = [
    each => each.resource === name,
    each => each.singular === name || each.kind.toLowerCase() === name,
    each => each.shortNames.includes(name),
  ]
  for (const match of matches) {
    const found = named.find(match)
    if (found) return found
  }
  return undefined
}

/** The resource that an owner reference or an event refers to. */
export function resourceOfKind(
  resources: readonly ApiResource[],
  { apiVersion, kind }: { readonly apiVersion: string; readonly kind: string },
): ApiResource | undefined {
  const slash = apiVersion.indexOf('/')
  const group = slash === -1 ? '' : apiVersion.slice(0, slash)
  return resources.find(each => each.kind === kind && each.group === group)
}
