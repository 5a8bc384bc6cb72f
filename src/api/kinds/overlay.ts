/**
 * The notation for what the generated definitions do not know by themselves: one overlay per group, in
 * `kinds/<group>/overlay.ts`. Only the generator reads overlays, and it refuses a name that does not exist.
 *
 * A type is written `Container`, a field `Container.ports`, and holds for every version of the group that has
 * it; `v1/Container` holds for that version only.
 */
export interface Overlay {
  /** Strings, or lists and maps of them, that are quantities. */
  readonly quantities?: readonly string[]
  /** Fields whose type the package leaves open, with the definition they have. */
  readonly types?: Readonly<Record<string, string>>
  /** Definitions the package leaves out: structs without fields, and those that stand for any JSON value. */
  readonly definitions?: Readonly<Record<string, 'struct' | 'any'>>
  /** Structs and maps of strings that server-side apply owns as a whole. */
  readonly atomic?: readonly string[]
  /** Fields that server-side apply owns part by part although their type is atomic. */
  readonly granular?: readonly string[]
  /**
   * Lists that are not atomic, and everything that strategic merge patch does not simply replace or merge.
   */
  readonly merging?: Readonly<Record<string, Merging>>
  /** What keys of `map` lists are taken to be when an item leaves them out. */
  readonly keyDefaults?: Readonly<Record<string, string>>
  readonly unions?: Readonly<Record<string, Union>>
  /** Kinds that belong to more groups than the one that defines them, or that carry no metadata. */
  readonly kinds?: Readonly<Record<string, 'every-group' | 'own-group'>>
  /** What discovery tells of a resource beyond its paths, by plural. */
  readonly resources?: Readonly<Record<string, ResourceFacts>>
}

/** By package. */
export type Overlays = Readonly<Record<string, Overlay>>

export interface Merging {
  readonly list?: 'set' | 'map'
  /** The keys of a `map` list. */
  readonly keys?: readonly string[]
  readonly patch?: 'merge' | 'replace' | 'retainKeys' | 'merge,retainKeys'
  readonly mergeKey?: string
}

/** Of the fields named, one may be set; the discriminator, where there is one, says which. */
export interface Union {
  readonly discriminator?: string
  readonly fields: Readonly<Record<string, string>>
}

export interface ResourceFacts {
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
  /** Verbs its paths seem to offer and the server does not. */
  readonly without?: readonly string[]
  /** The kind a connecting subresource takes its options from. */
  readonly options?: Readonly<Record<string, string>>
  /** The group and version it is stored in, when that is not the group's most stable version of it. */
  readonly storedAs?: { readonly group: string; readonly version: string }
}

/** A list of scalars without duplicates. */
export const set: Merging = { list: 'set' }

/** A set that strategic merge patch adds to. */
export const mergedSet: Merging = { list: 'set', patch: 'merge' }

/** A list of objects that these fields identify; strategic merge patch replaces it. */
export function keyed(...keys: readonly string[]): Merging {
  return { list: 'map', keys }
}

/** A list of objects that these fields identify; strategic merge patch goes by the first of them. */
export function merged(...keys: readonly [string, ...string[]]): Merging {
  return { list: 'map', keys, patch: 'merge', mergeKey: keys[0] }
}

/** As `merged`, and a patch may name the fields of an item that stay. */
export function mergedRetaining(key: string): Merging {
  return { ...merged(key), patch: 'merge,retainKeys' }
}

/** A list that server-side apply owns as a whole and strategic merge patch goes through item by item. */
export function mergedAtomic(key: string): Merging {
  return { patch: 'merge', mergeKey: key }
}

export const retaining: Merging = { patch: 'retainKeys' }
export const replaced: Merging = { patch: 'replace' }
