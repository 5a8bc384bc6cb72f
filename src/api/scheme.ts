/**
 * The kinds one API server serves at this moment. Custom kinds come and go while it runs; each server has a
 * scheme of its own, and nothing is shared but the resources themselves, which never change.
 *
 * Resources are found in the order clients expect: the built-in groups as discovery lists them, then custom
 * groups by name; within a group the most stable version first.
 */
import { assert } from '#/base/assert.ts'
import { groups } from './kinds/groups.ts'
import type { GroupVersionKind, GroupVersionResource, Resource } from './resource.ts'
import { compareVersions } from './version-priority.ts'

export interface SchemeGroup {
  readonly name: string
  /** The most stable first, which is the preferred one. */
  readonly versions: readonly string[]
}

export interface SchemeChange {
  readonly added: readonly Resource[]
  readonly removed: readonly Resource[]
}

export class Scheme {
  #resources: readonly Resource[] = []
  /** By group, version and plural, and by group, version and kind: both hold the same resources. */
  #byResource: ReadonlyMap<string, Resource> = new Map()
  #byKind: ReadonlyMap<string, Resource> = new Map()
  /** By plural, singular or short name, and by category, in the order of lookup. */
  #byName: ReadonlyMap<string, readonly Resource[]> = new Map()
  #byCategory: ReadonlyMap<string, readonly Resource[]> = new Map()
  readonly #listeners = new Set<(change: SchemeChange) => void>()
  #extend: (resource: Resource) => Resource = resource => resource

  constructor(resources: readonly Resource[] = []) {
    this.#index(resources)
  }

  /** Adds resources, each in the place of the one of the same group, version and plural if there is one. */
  register(...resources: readonly Resource[]): void {
    this.change({ add: resources })
  }

  unregister(...keys: readonly GroupVersionResource[]): void {
    this.change({ remove: keys })
  }

  /**
   * Removes and adds at once, so that a kind whose versions change is never seen half changed. Whoever adds a
   * custom kind has made sure of its names: two kinds with one name in a group are an error of the program.
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
   * From now on each resource is what `extend` makes of it, those that are here already and those that come. It makes
   * the same of the same. Called before anybody listens.
   */
  extend(extend: (resource: Resource) => Resource): void {
    const before = this.#extend
    this.#extend = resource => extend(before(resource))
    this.#index(this.#resources.map(extend))
  }

  /** Calls back after each change, until the returned function is called. */
  onChange(listener: (change: SchemeChange) => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  /** All resources in the order of lookup. */
  resources(): readonly Resource[] {
    return this.#resources
  }

  byResource(key: GroupVersionResource): Resource | undefined {
    return this.#byResource.get(resourceKey(key))
  }

  byKind({ group, version, kind }: GroupVersionKind): Resource | undefined {
    return this.#byKind.get(`${group}/${version}/${kind}`)
  }

  /** The resources with this plural, singular or short name, the one a client means first. */
  named(name: string): readonly Resource[] {
    return this.#byName.get(name.toLowerCase()) ?? []
  }

  /** The resources of a category such as `all`, each in its preferred version. */
  inCategory(category: string): readonly Resource[] {
    return this.#byCategory.get(category) ?? []
  }

  /** All versions of a kind, the preferred one first. */
  versionsOf({ group, kind }: { readonly group: string; readonly kind: string }): readonly Resource[] {
    return this.#resources.filter(each => each.group === group && each.kind === kind)
  }

  /** The groups in the order of lookup. */
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
    assert(byResource.size === resources.length, 'two resources of a group and version have one plural')
    assert(byKind.size === resources.length, 'two resources of a group and version have one kind')
    checkStorage(resources)
    this.#resources = resources
    this.#byResource = byResource
    this.#byKind = byKind
    this.#byName = indexBy(resources, each => new Set([each.plural, each.singular, ...each.shortNames]))
    this.#byCategory = indexBy(preferred(resources), each => each.categories)
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

/** Objects must not be written in two forms depending on the version a client happened to speak. */
function checkStorage(resources: readonly Resource[]): void {
  const storages = new Map<string, Resource>()
  for (const resource of resources) {
    const key = `${resource.group}/${resource.kind}`
    const first = storages.get(key) ?? resource
    storages.set(key, first)
    assert(
      first.storage.group === resource.storage.group && first.storage.version === resource.storage.version,
      `the versions of ${key} are stored differently`,
    )
  }
}

/** The first version of each resource; they are sorted. */
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
      const members = index.get(key)
      if (members) members.push(resource)
      else index.set(key, [resource])
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
