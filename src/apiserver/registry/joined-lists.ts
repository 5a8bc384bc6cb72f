/**
 * The items of recent large lists, joined. Many clients ask for all pods, or all nodes, and mostly nothing has changed
 * between two of them: the bytes are joined once for each change.
 */
import type { WholeList } from '../list-body.ts'

export interface JoinedKey {
  /** Undefined for a list that is a part, or is not of the present: it is not kept. */
  readonly whole: WholeList | undefined
  /** The form in which the items are. */
  readonly form: string
}

export class JoinedLists {
  /** Least recently used first. */
  readonly #lists = new Map<string, JoinedList>()
  #sizeBytes = 0

  /** The joined items; `join` is called when they are not known, or not as they are now. */
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

/** Smaller lists are joined faster than they are looked up; larger ones would push out all others. */
const listBytesMin = 64 * 1024
const listBytesMax = 32 * 1024 * 1024

const keptBytesMax = 64 * 1024 * 1024
