/**
 * Semaphore: limits concurrency; waiters are served in order. A node that gets a hundred pods creates
 * sandboxes faster with limited concurrency, and the first pods run earlier.
 */
import { Queue } from '#/base/queue.ts'

export class Semaphore {
  #free: number
  readonly #waiting = new Queue<() => void>()

  constructor(count: number) {
    this.#free = count
  }

  async use<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>(resolve => this.#waiting.push(resolve))
    try {
      return await work()
    } finally {
      const [next] = this.#waiting.take(1)
      if (next === undefined) this.#free++
      else next()
    }
  }
}
