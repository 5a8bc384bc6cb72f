/** Objects by key, with indexes that are maintained on every change. Objects are shared and immutable. */
import type { KubernetesObject } from '#/api/metadata.ts'

/** The objects by index value. */
export interface Index<T> {
  get(value: string): readonly T[]
  keys(value: string): readonly string[]
  /** All values with at least one object. */
  values(): readonly string[]
}

/** Returns the index values of an object; an empty array excludes it. Must depend on the object only. */
export type IndexFunc<T> = (object: T) => readonly string[]

export class Indexer<T extends KubernetesObject> {
  readonly #objects = new Map<string, T>()
  readonly #indexes = new Map<string, MaintainedIndex<T>>()

  get size(): number {
    return this.#objects.size
  }

  get(key: string): T | undefined {
    return this.#objects.get(key)
  }

  keys(): IterableIterator<string> {
    return this.#objects.keys()
  }

  list(): readonly T[] {
    return [...this.#objects.values()]
  }

  entries(): IterableIterator<[string, T]> {
    return this.#objects.entries()
  }

  set(key: string, object: T): void {
    const before = this.#objects.get(key)
    this.#objects.set(key, object)
    for (const index of this.#indexes.values()) index.change(key, before, object)
  }

  delete(key: string): void {
    const before = this.#objects.get(key)
    if (before === undefined) return
    this.#objects.delete(key)
    for (const index of this.#indexes.values()) index.change(key, before, undefined)
  }

  /** Returns the existing index if one has this name. */
  index(name: string, indexFunc: IndexFunc<T>): Index<T> {
    const known = this.#indexes.get(name)
    if (known) return known
    const index = new MaintainedIndex(indexFunc)
    for (const [key, object] of this.#objects) index.change(key, undefined, object)
    this.#indexes.set(name, index)
    return index
  }
}

class MaintainedIndex<T> implements Index<T> {
  readonly #indexFunc: IndexFunc<T>
  /** Contains no empty maps. */
  readonly #byValue = new Map<string, Map<string, T>>()

  constructor(indexFunc: IndexFunc<T>) {
    this.#indexFunc = indexFunc
  }

  get(value: string): readonly T[] {
    return [...(this.#byValue.get(value)?.values() ?? [])]
  }

  keys(value: string): readonly string[] {
    return [...(this.#byValue.get(value)?.keys() ?? [])]
  }

  values(): readonly string[] {
    return [...this.#byValue.keys()]
  }

  change(key: string, before: T | undefined, after: T | undefined): void {
    const values = after === undefined ? [] : this.#indexFunc(after)
    for (const value of before === undefined ? [] : this.#indexFunc(before)) {
      if (!values.includes(value)) this.#remove(value, key)
    }
    for (const value of values) this.#add(value, key, after!)
  }

  #add(value: string, key: string, object: T): void {
    const objects = this.#byValue.get(value)
    if (objects) objects.set(key, object)
    else this.#byValue.set(value, new Map([[key, object]]))
  }

  #remove(value: string, key: string): void {
    const objects = this.#byValue.get(value)
    objects?.delete(key)
    if (objects?.size === 0) this.#byValue.delete(value)
  }
}
