/**
 * Cache of values derived from immutable sources such as the resources of the scheme, cleared when a source is
 * replaced by another object. The size is bounded only by the keys, so callers must use keys that the sources bound.
 */
export class DerivedCache<T> {
  readonly #readSources: () => readonly unknown[]
  readonly #values = new Map<string, T>()
  #madeFrom: readonly unknown[] = []

  constructor(readSources: () => readonly unknown[]) {
    this.#readSources = readSources
  }

  /** An undefined result is returned but not cached. */
  get<U extends T | undefined>(key: string, make: () => U): U | T {
    const sources = this.#readSources()
    if (sources.some((source, index) => source !== this.#madeFrom[index])) {
      this.#values.clear()
      this.#madeFrom = sources
    }
    const known = this.#values.get(key)
    if (known !== undefined) return known
    const value = make()
    if (value !== undefined) this.#values.set(key, value)
    return value
  }
}
