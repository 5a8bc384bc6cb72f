/** The object of a store key, for the resources that are served now. */
import { apiVersionOf, type Resource } from '#/api/resource.ts'
import type { Scheme } from '#/api/scheme.ts'
import { prefixOf, resourcePrefixOf, storeRoot } from '../registry/store-keys.ts'

export interface LocatedObject {
  /** In the preferred version. */
  readonly resource: Resource
  readonly apiVersion: string
  /** Empty if cluster-scoped. */
  readonly namespace: string
  readonly name: string
}

export class KeyLocator {
  readonly #scheme: Pick<Scheme, 'groups' | 'resources'>
  #groups: ReturnType<Scheme['groups']> | undefined
  #byPrefix: ReadonlyMap<string, Resource> = new Map()

  constructor(scheme: Pick<Scheme, 'groups' | 'resources'>) {
    this.#scheme = scheme
  }

  /** Undefined if the resource is not served (anymore). */
  locate(key: string): LocatedObject | undefined {
    const prefix = resourcePrefixOf(key)
    const resource = prefix === undefined ? undefined : this.#resources().get(prefix)
    if (prefix === undefined || resource === undefined) return undefined
    const path = key.slice(storeRoot.length + prefix.length + 1)
    const slash = resource.scope === 'Namespaced' ? path.indexOf('/') : -1
    return {
      resource,
      apiVersion: apiVersionOf(resource),
      namespace: slash === -1 ? '' : path.slice(0, slash),
      name: path.slice(slash + 1),
    }
  }

  #resources(): ReadonlyMap<string, Resource> {
    const groups = this.#scheme.groups()
    if (groups === this.#groups) return this.#byPrefix
    const byPrefix = new Map<string, Resource>()
    for (const resource of this.#scheme.resources()) {
      // The preferred version of the group that Kubernetes stores it under comes first.
      byPrefix.getOrInsert(prefixOf(resource, '').slice(storeRoot.length, -1), resource)
    }
    this.#groups = groups
    this.#byPrefix = byPrefix
    return byPrefix
  }
}
