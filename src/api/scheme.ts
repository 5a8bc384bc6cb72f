/**
 * The resources that an API server currently serves. Custom resources are added and removed at runtime; each
 * server has its own scheme.
 *
 * Lookup order is that of clients: built-in groups in discovery order, then custom groups by name; within a
 * group the most stable version first.
 */
import { assert } from '#/base/assert.ts'
import { groups } from './kinds/groups.ts'
import type { GroupVersionKind, GroupVersionResource, Resource } from './resource.ts'
import { compareVersions } from './text/version-priority.ts'

export interface SchemeGroup {
  readonly name: string
  /** Most stable first; the first is the preferred version. */
  readonly versions: readonly string[]
}

export interface SchemeChange {
  readonly added: readonly Resource[]
  readonly removed: readonly Resource[]
}

export class Scheme {
  #resources: readonly Resource[] = []
  /**
   * Indexes by group, version and plural, and by group, version and kind; both contain the same resources.
   */
  #byResource: ReadonlyMap<string, Resource> = new Map()
  #byKind: ReadonlyMap<string, Resource> = new Map()
  /**
   * Indexes by plural, singular or short name, and by category, in lookup order. Few clients ask for them, so
   * they are computed on first use after a change.
   */
  #byName: ReadonlyMap<string, readonly Resource[]> | undefined
  #byCategory: ReadonlyMap<string, readonly Resource[]> | undefined
  readonly #listeners = new Set<(change: SchemeChange) => void>()
  #extend: (resource: Resource) => Resource = resource => resource

  constructor(resources: readonly Resource[] = []) {
    this.#index(resources)
  }

  /** Adds resources, replacing those with the same group, version and plural. */
  register(...resources: readonly Resource[]): void {
    this.change({ add: resources })
  }

  unregister(...keys: readonly GroupVersionResource[]): void {
    this.change({ remove: keys })
  }

  /**
   * Removes and adds atomically, so that a kind whose versions change is never seen in between. The caller
   * must have checked the names of custom kinds: duplicate names within a group are a programming error.
   */
  change({
    add: given = [],
    remove = [],
  }: {
    readonly add?: readonly Resource[]
    readonly remove?: readonly GroupVersionResource[]
  }): void {
    const add = given.map(this.#extend)
    const gone = new Set([...remove.map(resourceKey), ...add.map(keyOf)])
    const removed = this.#resources.filter(each => gone.has(keyOf(each)) && !add.includes(each))
    const added = add.filter(each => this.#byResource.get(keyOf(each)) !== each)
    if (added.length === 0 && removed.length === 0) return
    this.#index([...this.#resources.filter(each => !gone.has(keyOf(each))), ...add])
    for (const listener of this.#listeners) listener({ added, removed })
  }

  /**
   * Transforms every resource, existing and future, with `extend`, which must be deterministic. Must be
   * called before listeners are registered.
   */
  extend(extend: (resource: Resource) => Resource): void {
    const before = this.#extend
    this.#extend = resource => extend(before(resource))
    this.#index(this.#resources.map(extend))
  }

  /** Calls the listener after each change, until the returned function is called. */
  onChange(listener: (change: SchemeChange) => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  /** All resources in lookup order. */
  resources(): readonly Resource[] {
    return this.#resources
  }

  byResource(key: GroupVersionResource): Resource | undefined {
    return this.#byResource.get(resourceKey(key))
  }

  byKind({ group, version, kind }: GroupVersionKind): Resource | undefined {
    return this.#byKind.get(`${group}/${version}/${kind}`)
  }

  /** The resources with this plural, singular or short name, in lookup order. */
  named(name: string): readonly Resource[] {
    this.#byName ??= indexBy(
      this.#resources,
      each => new Set([each.plural, each.singular, ...each.shortNames]),
    )
    return this.#byName.get(name.toLowerCase()) ?? []
  }

  /** The resources of a category such as `all`, each in its preferred version. */
  inCategory(category: string): readonly Resource[] {
    this.#byCategory ??= indexBy(preferred(this.#resources), each => each.categories)
    return this.#byCategory.get(category) ?? []
  }

  /** All versions of a kind, the preferred one first. */
  versionsOf({ group, kind }: { readonly group: string; readonly kind: string }): readonly Resource[] {
    return this.#resources.filter(each => each.group === group && each.kind === kind)
  }

  /** The groups in lookup order. */
  groups(): readonly SchemeGroup[] {
    const versions = Map.groupBy(this.#resources, each => each.group)
    return [...versions].map(([name, members]) => ({
      name,
      versions: [...new Set(members.map(each => each.version))],
    }))
  }

  #index(unsorted: readonly Resource[]): void {
    const resources = [...unsorted].sort(compareResources)
    const byResource = new Map(resources.map(each => [keyOf(each), each]))
    const byKind = new Map(resources.map(each => [`${each.group}/${each.version}/${each.kind}`, each]))
    assert(byResource.size === resources.length, 'duplicate plural in a group version')
    assert(byKind.size === resources.length, 'duplicate kind in a group version')
    checkStorage(resources)
    this.#resources = resources
    this.#byResource = byResource
    this.#byKind = byKind
    this.#byName = undefined
    this.#byCategory = undefined
  }
}

function compareResources(a: Resource, b: Resource): number {
  return (
    compareGroups(a.group, b.group) ||
    compareVersions(a.version, b.version) ||
    compareText(a.plural, b.plural)
  )
}

const groupOrder: ReadonlyMap<string, number> = new Map(groups.map((group, index) => [group.name, index]))

function compareGroups(a: string, b: string): number {
  const left = groupOrder.get(a) ?? groupOrder.size
  const right = groupOrder.get(b) ?? groupOrder.size
  return left - right || compareText(a, b)
}

function compareText(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

/** All versions of a kind must have the same storage version. */
function checkStorage(resources: readonly Resource[]): void {
  const storages = new Map<string, Resource>()
  for (const resource of resources) {
    const key = `${resource.group}/${resource.kind}`
    const first = storages.getOrInsert(key, resource)
    assert(
      first.storage.group === resource.storage.group && first.storage.version === resource.storage.version,
      `the versions of ${key} are stored differently`,
    )
  }
}

/** The first version of each resource; the input is sorted. */
function preferred(resources: readonly Resource[]): readonly Resource[] {
  const seen = new Set<string>()
  return resources.filter(({ group, plural }) => {
    const key = `${group}/${plural}`
    return !seen.has(key) && seen.add(key)
  })
}

function indexBy(
  resources: readonly Resource[],
  keysOf: (resource: Resource) => Iterable<string>,
): ReadonlyMap<string, readonly Resource[]> {
  const index = new Map<string, Resource[]>()
  for (const resource of resources) {
    for (const key of keysOf(resource)) {
      index.getOrInsertComputed(key, () => []).push(resource)
    }
  }
  return index
}

function keyOf({ group, version, plural }: Resource): string {
  return `${group}/${version}/${plural}`
}

function resourceKey({ group, version, resource }: GroupVersionResource): string {
  return `${group}/${version}/${resource}`
}
