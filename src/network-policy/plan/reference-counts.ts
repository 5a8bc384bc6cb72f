/** Values that exist while something refers to their key. Each has a number that no other value ever has. */
export class ReferenceCounts<T> {
  readonly #entries = new Map<string, { readonly value: T; count: number }>()
  #last = 0

  /** The value of the key, made by `create` for the first reference. */
  acquire(key: string, create: (id: number) => T): T {
    const entry = this.#entries.get(key) ?? { value: create(++this.#last), count: 0 }
    entry.count++
    this.#entries.set(key, entry)
    return entry.value
  }

  /** Returns the value if this was the last reference to it. */
  release(key: string): T | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined || --entry.count > 0) return undefined
    this.#entries.delete(key)
    return entry.value
  }

  get(key: string): T | undefined {
    return this.#entries.get(key)?.value
  }

  get size(): number {
    return this.#entries.size
  }
}
