import type { GroupVersionKind, Resource } from '#/api/resource.ts'
import { quote } from '#/api/text/quote.ts'
import type { CachedDiscovery } from './cached-discovery.ts'
import type { ApiGroup, ApiResource } from './discovery-documents.ts'

/** A resource as discovery describes it. */
export type RestMapping = Pick<
  Resource,
  'group' | 'version' | 'kind' | 'plural' | 'singular' | 'scope' | 'shortNames' | 'categories' | 'verbs'
>

/** The server has no such resource. */
export class NoResourceMatchError extends Error {
  constructor(resource: string, suggestion: string | undefined) {
    const hint =
      suggestion === undefined || suggestion === resource ? '' : `\nDid you mean ${quote(suggestion)}?`
    super(`the server doesn't have a resource type ${quote(resource)}${hint}`)
    this.name = 'NoResourceMatchError'
  }
}

/** The server has no such kind. */
export class NoKindMatchError extends Error {
  constructor({ group, version, kind }: GroupVersionKind) {
    super(
      `no matches for kind ${quote(kind)} in version ${quote(group === '' ? version : `${group}/${version}`)}`,
    )
    this.name = 'NoKindMatchError'
  }
}

/**
 * Finds resources by what users type, and by the kinds of objects. What is not in the cache of discovery is looked up
 * again at the server once.
 */
export class RestMapper {
  readonly discovery: CachedDiscovery

  constructor(discovery: CachedDiscovery) {
    this.discovery = discovery
  }

  /** `deploy`, `deployments.apps`, `deployments.v1.apps`, in any case. Throws NoResourceMatchError. */
  async resourceFor(text: string): Promise<RestMapping> {
    const found = await this.#retry(() => this.#find(text.toLowerCase()))
    if (found !== undefined) return found
    const [name = ''] = text.split('.')
    throw new NoResourceMatchError(name, await this.#suggest(name.toLowerCase()))
  }

  /** Throws NoKindMatchError. */
  async mappingFor(kind: GroupVersionKind): Promise<RestMapping> {
    const groupVersion = kind.group === '' ? kind.version : `${kind.group}/${kind.version}`
    const found = await this.#retry(async () => {
      const mappings = await this.#mappings(groupVersion)
      return mappings.find(each => each.kind === kind.kind)
    })
    if (found !== undefined) return found
    throw new NoKindMatchError(kind)
  }

  /** In the preferred version of the group. Undefined if the server has no such kind. */
  async preferredFor(group: string, kind: string): Promise<RestMapping | undefined> {
    return this.#retry(async () => {
      const { versions = [] } = (await this.discovery.groups()).find(({ name }) => name === group) ?? {}
      for (const { groupVersion } of versions) {
        const found = (await this.#mappings(groupVersion)).find(each => each.kind === kind)
        if (found !== undefined) return found
      }
      return undefined
    })
  }

  /** The resources of a category, such as `all`, in their preferred versions; empty if there is no such category. */
  async inCategory(category: string): Promise<readonly RestMapping[]> {
    return (await this.preferredResources()).filter(({ categories }) => categories.includes(category))
  }

  /** Every resource once, in the preferred version among those that have it. */
  async preferredResources(): Promise<readonly RestMapping[]> {
    const found = new Map<string, RestMapping>()
    for (const group of await this.discovery.groups()) {
      const lists = await Promise.all(group.versions.map(({ groupVersion }) => this.#mappings(groupVersion)))
      for (const mapping of lists.flat()) {
        const name = `${mapping.plural}.${group.name}`
        if (!found.has(name)) found.set(name, mapping)
      }
    }
    return [...found.values()]
  }

  /** Versions of extension servers that do not respond: `metrics.k8s.io/v1beta1`. */
  async staleGroupVersions(): Promise<readonly string[]> {
    const groups = await this.discovery.groups()
    const all = groups.flatMap(({ versions }) => versions.map(({ groupVersion }) => groupVersion))
    const lists = await Promise.all(all.map(groupVersion => this.discovery.resources(groupVersion)))
    return all.filter((_, index) => lists[index] === undefined)
  }

  async #find(text: string): Promise<RestMapping | undefined> {
    const [name = '', ...rest] = text.split('.')
    const groups = await this.discovery.groups()
    if (rest.length > 0) {
      const versioned = await this.#inGroup(groups, {
        name,
        group: rest.slice(1).join('.'),
        version: rest[0]!,
      })
      return versioned ?? this.#inGroup(groups, { name, group: rest.join('.') })
    }
    // Groups are read one by one, so that most commands read only the first.
    for (const group of groups) {
      const found = await this.#inGroup([group], { name, group: group.name })
      if (found !== undefined) return found
    }
    return undefined
  }

  /** A group may be abbreviated: `ingresses.networking`. */
  async #inGroup(
    groups: readonly ApiGroup[],
    { name, group, version }: { readonly name: string; readonly group: string; readonly version?: string },
  ): Promise<RestMapping | undefined> {
    const exact = groups.filter(each => each.name === group)
    const candidates =
      exact.length > 0 || group === '' ? exact : groups.filter(each => each.name.startsWith(group))
    for (const { versions } of candidates) {
      for (const each of versions) {
        if (version !== undefined && each.version !== version) continue
        const found = (await this.#mappings(each.groupVersion)).find(mapping => isNamed(mapping, name))
        if (found !== undefined) return found
      }
    }
    return undefined
  }

  async #mappings(groupVersion: string): Promise<readonly RestMapping[]> {
    const list = await this.discovery.resources(groupVersion)
    const [group = '', version = ''] = groupVersion.includes('/')
      ? groupVersion.split('/')
      : ['', groupVersion]
    return (list?.resources ?? [])
      .filter(({ name }) => !name.includes('/'))
      .map(resource => mappingOf(resource, { group, version }))
  }

  async #retry(find: () => Promise<RestMapping | undefined>): Promise<RestMapping | undefined> {
    const found = await find()
    if (found !== undefined || this.discovery.isFresh) return found
    this.discovery.invalidate()
    return find()
  }

  /** The closest name, if it is close. */
  async #suggest(text: string): Promise<string | undefined> {
    const { closestWord } = await import('../closest-word.ts')
    const names = (await this.preferredResources()).flatMap(({ plural, singular }) => [plural, singular])
    return closestWord(text, names)
  }
}

function isNamed({ plural, singular, kind, shortNames }: RestMapping, name: string): boolean {
  return plural === name || (singular || kind.toLowerCase()) === name || shortNames.includes(name)
}

function mappingOf(
  resource: ApiResource,
  given: { readonly group: string; readonly version: string },
): RestMapping {
  const { name, singularName, namespaced, kind, verbs, shortNames = [], categories = [] } = resource
  return {
    ...given,
    kind,
    plural: name,
    singular: singularName,
    scope: namespaced ? 'Namespaced' : 'Cluster',
    shortNames,
    categories,
    verbs,
  }
}
