/** Things that come when they come, for one reader. Who pushes must know a bound to how many there can be. */
export class AsyncQueue<T> implements AsyncIterable<T> {
  readonly #items: T[] = []
  #isEnded = false
  #wake: () => void = () => undefined

  push(item: T): void {
    if (this.#isEnded) return
    this.#items.push(item)
    this.#wake()
  }

  /** What was pushed before is still read. */
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
