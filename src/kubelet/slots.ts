/**
 * Lets so many do something at a time; the others wait in the order in which they came. A node that is given a hundred
 * pods makes a few sandboxes after the other faster than all at once, and the first of them run early.
 */
import { Queue } from '#/base/queue.ts'

export class Slots {
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
