/** A map of bounded size that evicts the least recently used entry. */
export class LruMap<Key, Value> {
  readonly #sizeMax: number
  /** In order of last use, least recent first. */
  readonly #entries = new Map<Key, Value>()

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax
  }

  get size(): number {
    return this.#entries.size
  }

  get(key: Key): Value | undefined {
    const value = this.#entries.get(key)
    if (value === undefined) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, value)
    return value
  }

  set(key: Key, value: Value): void {
    this.#entries.delete(key)
    this.#entries.set(key, value)
    if (this.#entries.size <= this.#sizeMax) return
    for (const oldest of this.#entries.keys()) return void this.#entries.delete(oldest)
  }

  /** Least recently used first. Does not count as a use. */
  values(): Iterable<Value> {
    return this.#entries.values()
  }

  delete(key: Key): void {
    this.#entries.delete(key)
  }
}
