/**
 * The resources that an API server currently serves. Custom resources are added and removed at runtime; each
 * server has its own scheme.
 *
 * Lookup order is that of clients: built-in groups in discovery order, then custom groups by name; within a
 * group the most stable version first.
 */
import { assert } from '#/base/assert.ts'
import { groups } from './kinds/groups.ts'
import type { GroupVersion, GroupVersionKind, GroupVersionResource, Resource } from './resource.ts'
import { compareVersions } from './text/version-priority.ts'

/** Replaced when one of its resources changes and kept otherwise: what is derived from it can be cached. */
export interface SchemeGroup {
  readonly name: string
  /** Most stable first; the first is the preferred version. */
  readonly versions: readonly SchemeVersion[]
}

/** Replaced when one of its resources changes and kept otherwise, like its group. */
export interface SchemeVersion extends GroupVersion {
  /** Sorted by plural. */
  readonly resources: readonly Resource[]
}

export interface SchemeChange {
  readonly added: readonly Resource[]
  readonly removed: readonly Resource[]
}

export class Scheme {
  /** In lookup order. */
  #groups: readonly SchemeGroup[] = []
  /**
   * Indexes by group, version and plural, and by group, version and kind; both contain the same resources.
   */
  readonly #byResource = new Map<string, Resource>()
  readonly #byKind = new Map<string, Resource>()
  /** All resources in lookup order, computed on first use after a change like the two indexes below. */
  #resources: readonly Resource[] | undefined
  /**
   * Indexes by plural, singular or short name, and by category, in lookup order. Few clients ask for them.
   */
  #byName: ReadonlyMap<string, readonly Resource[]> | undefined
  #byCategory: ReadonlyMap<string, readonly Resource[]> | undefined
  readonly #listeners = new Set<(change: SchemeChange) => void>()
  #extend: (resource: Resource) => Resource = resource => resource

  constructor(resources: readonly Resource[] = []) {
    this.#replace([], resources)
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
    const replaced = new Set(
      [...remove.map(resourceKey), ...add.map(keyOf)].flatMap(key => this.#byResource.get(key) ?? []),
    )
    const removed = [...replaced].filter(each => !add.includes(each))
    const added = add.filter(each => !replaced.has(each))
    if (added.length === 0 && removed.length === 0) return
    this.#replace([...replaced], add)
    for (const listener of this.#listeners) listener({ added, removed })
  }

  /**
   * Transforms every resource, existing and future, with `extend`, which must be deterministic. Must be
   * called before listeners are registered.
   */
  extend(extend: (resource: Resource) => Resource): void {
    const before = this.#extend
    this.#extend = resource => extend(before(resource))
    this.#replace(this.resources(), this.resources().map(extend))
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
    this.#resources ??= this.#groups.flatMap(resourcesOf)
    return this.#resources
  }

  byResource(key: GroupVersionResource): Resource | undefined {
    return this.#byResource.get(resourceKey(key))
  }

  byKind({ group, version, kind }: GroupVersionKind): Resource | undefined {
    return this.#byKind.get(kindKey({ group, version, kind }))
  }

  /** The resources with this plural, singular or short name, in lookup order. */
  named(name: string): readonly Resource[] {
    this.#byName ??= indexBy(
      this.resources(),
      each => new Set([each.plural, each.singular, ...each.shortNames]),
    )
    return this.#byName.get(name.toLowerCase()) ?? []
  }

  /** The resources of a category such as `all`, each in its preferred version. */
  inCategory(category: string): readonly Resource[] {
    this.#byCategory ??= indexBy(preferred(this.resources()), each => each.categories)
    return this.#byCategory.get(category) ?? []
  }

  /** All versions of a kind, the preferred one first. */
  versionsOf({ group, kind }: { readonly group: string; readonly kind: string }): readonly Resource[] {
    const found = this.#group(group)
    return found ? resourcesOf(found).filter(each => each.kind === kind) : []
  }

  /** The groups in lookup order. The same array until a resource changes. */
  groups(): readonly SchemeGroup[] {
    return this.#groups
  }

  /** The resources of a group version; empty if it has none. */
  resourcesIn({ group, version }: GroupVersion): readonly Resource[] {
    return this.#group(group)?.versions.find(each => each.version === version)?.resources ?? []
  }

  #group(name: string): SchemeGroup | undefined {
    const group = this.#groups[lowerBound(this.#groups, name)]
    return group?.name === name ? group : undefined
  }

  /** Only the groups of these resources are computed again. Throws before the first change. */
  #replace(removed: readonly Resource[], added: readonly Resource[]): void {
    const gone = new Set(removed)
    const addedByGroup = Map.groupBy(added, each => each.group)
    const names = new Set([...removed.map(each => each.group), ...addedByGroup.keys()])
    const changed = Array.from(names, name => {
      const before = this.#group(name)
      const kept = before ? resourcesOf(before).filter(each => !gone.has(each)) : []
      return { name, group: makeGroup(name, [...kept, ...(addedByGroup.get(name) ?? [])], before) }
    })
    for (const each of removed) this.#byResource.delete(keyOf(each))
    for (const each of removed) this.#byKind.delete(kindKey(each))
    for (const each of added) this.#byResource.set(keyOf(each), each)
    for (const each of added) this.#byKind.set(kindKey(each), each)
    const groups = [...this.#groups]
    for (const { name, group } of changed) {
      const index = lowerBound(groups, name)
      groups.splice(index, groups[index]?.name === name ? 1 : 0, ...(group ? [group] : []))
    }
    this.#groups = groups
    this.#resources = undefined
    this.#byName = undefined
    this.#byCategory = undefined
  }
}

/** Undefined without resources. A version that has the same resources as before is kept. */
function makeGroup(
  name: string,
  resources: readonly Resource[],
  before: SchemeGroup | undefined,
): SchemeGroup | undefined {
  if (resources.length === 0) return undefined
  checkStorage(resources)
  const members = Map.groupBy(resources, each => each.version)
  const versions = Array.from(members, ([version, unsorted]): SchemeVersion => {
    assert(hasUnique(unsorted, 'plural'), 'duplicate plural in a group version')
    assert(hasUnique(unsorted, 'kind'), 'duplicate kind in a group version')
    const sorted = unsorted.toSorted((a, b) => compareText(a.plural, b.plural))
    const known = before?.versions.find(each => each.version === version)
    return known && isSame(known.resources, sorted) ? known : { group: name, version, resources: sorted }
  })
  return { name, versions: versions.sort((a, b) => compareVersions(a.version, b.version)) }
}

function hasUnique(resources: readonly Resource[], key: 'plural' | 'kind'): boolean {
  return new Set(resources.map(each => each[key])).size === resources.length
}

function isSame(left: readonly Resource[], right: readonly Resource[]): boolean {
  return left.length === right.length && left.every((each, index) => each === right[index])
}

function resourcesOf({ versions }: SchemeGroup): readonly Resource[] {
  return versions.flatMap(each => each.resources)
}

/** The index of the group with this name, or where it is inserted. */
function lowerBound(groups: readonly SchemeGroup[], name: string): number {
  let [low, high] = [0, groups.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compareGroups(groups[middle]!.name, name) < 0) low = middle + 1
    else high = middle
  }
  return low
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

function kindKey({ group, version, kind }: GroupVersionKind): string {
  return `${group}/${version}/${kind}`
}

function resourceKey({ group, version, resource }: GroupVersionResource): string {
  return `${group}/${version}/${resource}`
}
