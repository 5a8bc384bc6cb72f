/**
 * Cache of the joined items of recent large lists. Many clients list all pods or all nodes, usually without
 * changes in between, so the bytes are joined once per change.
 */
import type { WholeList } from '../list-body.ts'

export interface JoinedKey {
  /** Undefined for partial or historical lists, which are not cached. */
  readonly whole: WholeList | undefined
  /** Name of the encoding of the items. */
  readonly form: string
}

export class ListItemsCache {
  /** Least recently used first. */
  readonly #lists = new Map<string, JoinedList>()
  #sizeBytes = 0

  /** Returns the cached items, or calls `join` if they are missing or outdated. */
  items({ whole, form }: JoinedKey, join: () => readonly Uint8Array[]): readonly Uint8Array[] {
    if (whole === undefined) return join()
    const key = `${whole.prefix} ${form}`
    const known = this.#lists.get(key)
    if (known) this.#forget(key, known)
    if (known?.changedRevision === whole.changedRevision) {
      this.#keep(key, known)
      return known.items
    }
    const items = join()
    const sizeBytes = items.reduce((sum, piece) => sum + piece.length, 0)
    if (sizeBytes >= listBytesMin && sizeBytes <= listBytesMax) {
      this.#keep(key, { changedRevision: whole.changedRevision, items, sizeBytes })
    }
    return items
  }

  #keep(key: string, list: JoinedList): void {
    this.#lists.set(key, list)
    this.#sizeBytes += list.sizeBytes
    for (const [oldest, { sizeBytes }] of this.#lists) {
      if (this.#sizeBytes <= keptBytesMax) return
      this.#lists.delete(oldest)
      this.#sizeBytes -= sizeBytes
    }
  }

  #forget(key: string, { sizeBytes }: JoinedList): void {
    this.#lists.delete(key)
    this.#sizeBytes -= sizeBytes
  }
}

interface JoinedList {
  readonly changedRevision: number
  readonly items: readonly Uint8Array[]
  readonly sizeBytes: number
}

/** Size bounds of cached lists: smaller ones are fast to join, larger ones would evict all others. */
const listBytesMin = 64 * 1024
const listBytesMax = 32 * 1024 * 1024

const keptBytesMax = 64 * 1024 * 1024
