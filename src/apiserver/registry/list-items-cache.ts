/**
 * Cache of the encoded items of large lists. Many clients list all pods or all nodes, usually without changes in
 * between, so the items are encoded once per change.
 */

/** All objects under a prefix, with the revision of their last change, which identifies the list's content. */
export interface WholeList {
  readonly prefix: string
  readonly changedRevision: number
}

export interface SharedList extends WholeList {
  /** Name of the encoding of the items. */
  readonly form: string
}

type Items = readonly Uint8Array[]

export class ListItemsCache {
  /** Least recently used first. */
  readonly #lists = new Map<string, CachedList>()
  #sizeBytes = 0

  /** Larger lists would evict all others. */
  isCacheable(sizeBytes: number): boolean {
    return sizeBytes <= listBytesMax
  }

  /** The items of the list, encoded by the first of concurrent requests. */
  async share({ prefix, form, changedRevision }: SharedList, encode: () => Promise<Items>): Promise<Items> {
    const key = `${prefix} ${form}`
    const known = this.#lists.get(key)
    if (known) this.#forget(key, known)
    const isCurrent = known?.changedRevision === changedRevision
    const list: CachedList = isCurrent ? known : { changedRevision, items: encode(), sizeBytes: 0 }
    this.#keep(key, list)
    if (isCurrent) return list.items
    try {
      const items = await list.items
      const sizeBytes = items.reduce((sum, piece) => sum + piece.length, 0)
      if (this.#lists.get(key) === list) this.#keep(key, { ...list, sizeBytes })
      return items
    } catch (error) {
      if (this.#lists.get(key) === list) this.#forget(key, list)
      throw error
    }
  }

  #keep(key: string, list: CachedList): void {
    this.#lists.set(key, list)
    this.#sizeBytes += list.sizeBytes
    for (const [oldest, { sizeBytes }] of this.#lists) {
      if (this.#sizeBytes <= keptBytesMax) return
      this.#lists.delete(oldest)
      this.#sizeBytes -= sizeBytes
    }
  }

  #forget(key: string, { sizeBytes }: CachedList): void {
    this.#lists.delete(key)
    this.#sizeBytes -= sizeBytes
  }
}

interface CachedList {
  readonly changedRevision: number
  readonly items: Promise<Items>
  /** 0 until they are encoded. */
  readonly sizeBytes: number
}

const listBytesMax = 32 * 1024 * 1024

const keptBytesMax = 64 * 1024 * 1024
