/** Cached access to the objects that tokens refer to. */
import type { Stored } from '#/api/metadata.ts'
import type { Scheme } from '#/api/scheme.ts'
import { assert } from '#/base/assert.ts'
import type { ObjectCache } from '../registry/watch-cache.ts'
import { prefixOf } from '../registry/store-keys.ts'

type ObjectKind = 'ServiceAccount' | 'Secret' | 'Pod' | 'Node'

export interface ClusterObjectsOptions {
  readonly scheme: Scheme
  readonly cache: ObjectCache
}

export class ClusterObjects {
  readonly #scheme: Scheme
  readonly #cache: ObjectCache
  readonly #prefixes = new Map<ObjectKind, string>()

  constructor({ scheme, cache }: ClusterObjectsOptions) {
    this.#scheme = scheme
    this.#cache = cache
  }

  find(kind: ObjectKind, namespace: string, name: string): Stored | undefined {
    return this.get(this.keyOf(kind, namespace, name))
  }

  /** Faster for repeated lookups, with a key from `keyOf`. */
  get(key: string): Stored | undefined {
    return this.#cache.get(key)?.object
  }

  keyOf(kind: ObjectKind, namespace: string, name: string): string {
    return `${this.#prefix(kind)}${namespace === '' ? '' : `${namespace}/`}${name}`
  }

  #prefix(kind: ObjectKind): string {
    const known = this.#prefixes.get(kind)
    if (known !== undefined) return known
    const resource = this.#scheme.byKind({ group: '', version: 'v1', kind })
    assert(resource !== undefined, `resource ${kind} is not registered`)
    const prefix = prefixOf(resource, '')
    this.#prefixes.set(kind, prefix)
    return prefix
  }
}
