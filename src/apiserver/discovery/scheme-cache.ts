import type { Resource } from '#/api/resource.ts'
import type { Scheme } from '#/api/scheme.ts'

/**
 * Cache of values derived from the scheme, cleared when the scheme changes. The size is bounded only by the
 * keys, so callers must use keys that the scheme bounds.
 */
export class SchemeCache<T> {
  readonly #scheme: Scheme
  readonly #values = new Map<string, T>()
  /** Compared by identity: the list is a new object after every change of the scheme. */
  #madeFrom: readonly Resource[] = []

  constructor(scheme: Scheme) {
    this.#scheme = scheme
  }

  /** An undefined result is returned but not cached. */
  get<U extends T | undefined>(key: string, make: (resources: readonly Resource[]) => U): U | T {
    const resources = this.#scheme.resources()
    if (resources !== this.#madeFrom) {
      this.#values.clear()
      this.#madeFrom = resources
    }
    const known = this.#values.get(key)
    if (known !== undefined) return known
    const value = make(resources)
    if (value !== undefined) this.#values.set(key, value)
    return value
  }
}
