/**
 * A binary min-heap from which any entry can be removed, not only the smallest. The order of entries that
 * compare as equal is undefined: for a stable order, compare a sequence number last.
 */
export class Heap<T> {
  readonly #compare: (left: T, right: T) => number
  /** `#entries[i].index === i` for every entry in the heap; a removed entry has index -1. */
  readonly #entries: HeapEntry<T>[] = []

  constructor(compare: (left: T, right: T) => number) {
    this.#compare = compare
  }

  get size(): number {
    return this.#entries.length
  }

  push(value: T): HeapEntry<T> {
    const entry = { value, index: this.#entries.length }
    this.#entries.push(entry)
    this.#rise(entry)
    return entry
  }

  /** Returns the smallest value without removing it. */
  peek(): T | undefined {
    return this.#entries[0]?.value
  }

  pop(): T | undefined {
    const least = this.#entries[0]
    if (least === undefined) return undefined
    this.remove(least)
    return least.value
  }

  /** Returns true if the entry was in this heap. */
  remove(entry: HeapEntry<T>): boolean {
    const { index } = entry
    if (this.#entries[index] !== entry) return false
    const last = this.#entries.pop()
    if (last !== undefined && last !== entry) {
      this.#place(last, index)
      this.#rise(last)
      this.#sink(last)
    }
    entry.index = -1
    return true
  }

  #rise(entry: HeapEntry<T>): void {
    while (entry.index > 0) {
      const index = entry.index
      const parent = this.#entries[(index - 1) >> 1]
      if (parent === undefined || this.#compare(parent.value, entry.value) <= 0) return
      this.#place(entry, parent.index)
      this.#place(parent, index)
    }
  }

  #sink(entry: HeapEntry<T>): void {
    for (;;) {
      const index = entry.index
      const left = this.#entries[2 * index + 1]
      const right = this.#entries[2 * index + 2]
      const least = left && right && this.#compare(right.value, left.value) < 0 ? right : left
      if (least === undefined || this.#compare(entry.value, least.value) <= 0) return
      this.#place(entry, least.index)
      this.#place(least, index)
    }
  }

  #place(entry: HeapEntry<T>, index: number): void {
    this.#entries[index] = entry
    entry.index = index
  }
}

/** Handle for `remove`. Only the heap writes the index. */
export interface HeapEntry<T> {
  readonly value: T
  index: number
}
