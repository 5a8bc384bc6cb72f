/**
 * Facts missing from the generated definitions: one overlay per group, in `kinds/<group>/overlay.ts`. Only
 * the generator reads overlays; it rejects unknown names.
 *
 * A type is written `Container`, a field `Container.ports`; both apply to every version of the group that has
 * them. `v1/Container` applies to that version only.
 */
export interface Overlay {
  /** Strings, or lists and maps of strings, that are quantities. */
  readonly quantities?: readonly string[]
  /** Definitions of fields whose type the package leaves open. */
  readonly types?: Readonly<Record<string, string>>
  /** Definitions missing from the package: structs without fields, and any JSON value. */
  readonly definitions?: Readonly<Record<string, 'struct' | 'any'>>
  /** Structs and maps of strings that are atomic in server-side apply. */
  readonly atomic?: readonly string[]
  /** Fields that are granular in server-side apply although their type is atomic. */
  readonly granular?: readonly string[]
  /**
   * Lists that are not atomic, and fields with a patch strategy other than the default of strategic merge
   * patch.
   */
  readonly merging?: Readonly<Record<string, Merging>>
  /**
   * Defaults that the OpenAPI document declares, other than the zero values of fields that are always present.
   * Server-side apply uses those of the keys of `map` lists.
   */
  readonly defaults?: Readonly<Record<string, string | number | boolean>>
  /** The values of enumerations, sorted, by the name of their type. */
  readonly enums?: Readonly<Record<string, readonly string[]>>
  /**
   * Strings, or lists and maps of strings, that are enumerations, with the type: `RestartPolicy` of the same group,
   * `core.Protocol` of another one.
   */
  readonly enumFields?: Readonly<Record<string, string>>
  /** Extensions that OpenAPI declares without effect: a list type of bytes, `granular` of a map. */
  readonly extensions?: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly unions?: Readonly<Record<string, Union>>
  /** Kinds that exist in all groups besides the one that defines them, or that have no metadata. */
  readonly kinds?: Readonly<Record<string, 'every-group' | 'own-group'>>
  /**
   * Types and fields in whose documentation two spaces separate sentences. Elsewhere they are what the package
   * has left of a line break.
   */
  readonly spacedSentences?: readonly string[]
  /** Discovery facts that cannot be derived from the paths, by plural. */
  readonly resources?: Readonly<Record<string, ResourceFacts>>
  /** Field numbers of the protobuf messages, in the notation of `protobuf/field-numbers.ts`. */
  readonly fieldNumbers?: string
}

/** Keyed by package. */
export type Overlays = Readonly<Record<string, Overlay>>

export interface Merging {
  readonly list?: 'set' | 'map'
  /** The keys of a `map` list. */
  readonly keys?: readonly string[]
  readonly patch?: 'merge' | 'replace' | 'retainKeys' | 'merge,retainKeys'
  readonly mergeKey?: string
}

/** At most one of the fields may be set; the discriminator, if any, names it. */
export interface Union {
  readonly discriminator?: string
  readonly fields: Readonly<Record<string, string>>
}

export interface ResourceFacts {
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
  /** Verbs that the paths suggest but the server does not support. */
  readonly without?: readonly string[]
  /** The options kind of a connect subresource. */
  readonly options?: Readonly<Record<string, string>>
  /** Storage version, if it is not the most stable version in the group. */
  readonly storedAs?: { readonly group: string; readonly version: string }
  /** Version in the `storageVersionHash` of Kubernetes, which stores some kinds in an older version. */
  readonly hashedVersion?: string
}

/** A list of type `set`. */
export const set: Merging = { list: 'set' }

/** A list of type `set` that strategic merge patch merges. */
export const mergedSet: Merging = { list: 'set', patch: 'merge' }

/** A list of type `map` that strategic merge patch replaces. */
export function keyed(...keys: readonly string[]): Merging {
  return { list: 'map', keys }
}

/** A list of type `map` that strategic merge patch merges by the first key. */
export function merged(...keys: readonly [string, ...string[]]): Merging {
  return { list: 'map', keys, patch: 'merge', mergeKey: keys[0] }
}

/** Like `merged`, with the `retainKeys` strategy. */
export function mergedRetaining(key: string): Merging {
  return { ...merged(key), patch: 'merge,retainKeys' }
}

/** A list that is atomic in server-side apply and that strategic merge patch merges. */
export function mergedAtomic(key: string): Merging {
  return { patch: 'merge', mergeKey: key }
}

export const retaining: Merging = { patch: 'retainKeys' }
export const replaced: Merging = { patch: 'replace' }
