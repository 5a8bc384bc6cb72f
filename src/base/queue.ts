/**
 * A FIFO queue with access by index. Removing from the front takes amortized constant time per item,
 * independent of the length.
 */
export class Queue<T> {
  #items: T[] = []
  /** Index in `#items` of the first item; earlier ones have been removed. */
  #head = 0

  get length(): number {
    return this.#items.length - this.#head
  }

  at(index: number): T | undefined {
    return this.#items[this.#head + index]
  }

  push(item: T): void {
    this.#items.push(item)
  }

  /** Removes and returns the first items. */
  take(count: number): T[] {
    const taken = this.#items.slice(this.#head, this.#head + count)
    this.#head += taken.length
    // Compacting only when at least half of the array is unused keeps the amortized cost per item constant.
    if (this.#head > this.#items.length / 2) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
    return taken
  }
}
