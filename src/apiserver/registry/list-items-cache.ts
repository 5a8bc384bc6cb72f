/**
 * Cache of the encoded items of large lists and pages. Many clients list all pods or all nodes, usually without changes
 * in between, so the items are encoded once per change.
 */

/** Objects under a prefix, with the revision of their last change, which identifies the content. */
export interface ListRange {
  readonly prefix: string
  /** The last key of the previous page. */
  readonly after: string | undefined
  /** 0 for all objects. */
  readonly limit: number
  readonly changedRevision: number
}

export interface SharedList extends ListRange {
  /** Name of the encoding of the items. */
  readonly form: string
}

export interface SharedItems {
  readonly pieces: readonly Uint8Array[]
}

export class ListItemsCache {
  /** Least recently used first. */
  readonly #lists = new Map<string, CachedList>()
  #sizeBytes = 0
  /** The revision at which each list was requested last. */
  readonly #requested = new Map<string, number>()

  /**
   * True if the list was requested before and has not changed since: what a single client reads would fill the memory
   * for nothing.
   */
  isWorthCaching(list: SharedList, sizeBytes: number): boolean {
    if (sizeBytes > listBytesMax) return false
    const key = keyOf(list)
    const isRepeated = this.#requested.get(key) === list.changedRevision
    if (this.#requested.size >= requestedMax) this.#requested.clear()
    this.#requested.set(key, list.changedRevision)
    return isRepeated
  }

  /** The items of the list, encoded by the first of concurrent requests. */
  async share<Items extends SharedItems>(shared: SharedList, encode: () => Promise<Items>): Promise<Items> {
    const { changedRevision } = shared
    const key = keyOf(shared)
    const known = this.#lists.get(key)
    if (known) this.#forget(key, known)
    const isCurrent = known?.changedRevision === changedRevision
    const list: CachedList = isCurrent ? known : { changedRevision, items: encode(), sizeBytes: 0 }
    this.#keep(key, list)
    // A form has items of one type.
    const encoding = list.items as Promise<Items>
    if (isCurrent) return encoding
    try {
      const items = await encoding
      const sizeBytes = items.pieces.reduce((sum, piece) => sum + piece.length, 0)
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
  readonly items: Promise<SharedItems>
  /** 0 until they are encoded. */
  readonly sizeBytes: number
}

function keyOf({ prefix, after = '', limit, form }: SharedList): string {
  return `${prefix} ${after} ${limit} ${form}`
}

/** Larger lists would evict all others. */
const listBytesMax = 32 * 1024 * 1024

const requestedMax = 1_000

const keptBytesMax = 64 * 1024 * 1024
