/**
 * A list that grows at the end and is eaten from the front, with access by position. Eating is cheap however
 * long it is.
 */
export class Deque<T> {
  #items: T[] = []
  /** Items before this position have been dropped. */
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
    // Moving what is left only when at least as much was dropped keeps the cost for each item constant.
    if (this.#head > this.#items.length / 2) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
    return taken
  }
}
