/** Unbounded queue for one reader. The writer has to bound the number of items. */
export class AsyncQueue<T> implements AsyncIterable<T> {
  readonly #items: T[] = []
  #isEnded = false
  #wake: () => void = () => undefined

  push(item: T): void {
    if (this.#isEnded) return
    this.#items.push(item)
    this.#wake()
  }

  /** Items pushed before are still delivered. */
  end(): void {
    this.#isEnded = true
    this.#wake()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for (;;) {
      const change = new Promise<void>(resolve => {
        this.#wake = resolve
      })
      const items = this.#items.splice(0)
      if (items.length > 0) yield* items
      else if (this.#isEnded) return
      else await change
    }
  }
}
