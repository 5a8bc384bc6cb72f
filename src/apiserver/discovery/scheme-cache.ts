import type { Resource } from '#/api/resource.ts'
import type { Scheme } from '#/api/scheme.ts'

/**
 * What was made from the kinds served at this moment, forgotten when they change. It holds no more than there
 * are keys; callers use only keys that the scheme bounds.
 */
export class SchemeCache<T> {
  readonly #scheme: Scheme
  readonly #values = new Map<string, T>()
  /** The list is another one after every change of the scheme. */
  #madeFrom: readonly Resource[] = []

  constructor(scheme: Scheme) {
    this.#scheme = scheme
  }

  /** Undefined, and not kept, when there is nothing to make. */
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
