/** A map of bounded size: at the bound the entry goes that was not looked at for longest. */
export class LruMap<Key, Value> {
  readonly #sizeMax: number
  /** In the order in which they were last looked at. */
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

  delete(key: Key): void {
    this.#entries.delete(key)
  }
}
