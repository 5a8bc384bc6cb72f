/**
 * Bounded queue of audit lines. When it is full, new lines are dropped, so that a slow disk does not stall
 * the server.
 */
import { Queue } from '#/base/queue.ts'

export interface LineQueueBounds {
  readonly linesMax: number
  readonly bytesMax: number
}

export class LineQueue {
  readonly #bounds: LineQueueBounds
  readonly #lines = new Queue<string>()
  #bytes = 0
  #dropped = 0
  #wake: (() => void) | undefined

  constructor(bounds: LineQueueBounds) {
    this.#bounds = bounds
  }

  get length(): number {
    return this.#lines.length
  }

  /** Returns false if the line was dropped. */
  push(line: string): boolean {
    const { linesMax, bytesMax } = this.#bounds
    if (this.#lines.length >= linesMax || this.#bytes + line.length > bytesMax) {
      this.#dropped++
      return false
    }
    this.#lines.push(line)
    this.#bytes += line.length
    this.#wake?.()
    return true
  }

  take(linesMax: number): readonly string[] {
    const lines = this.#lines.take(linesMax)
    for (const line of lines) this.#bytes -= line.length
    return lines
  }

  /** Returns and resets the number of dropped lines. */
  takeDropped(): number {
    const dropped = this.#dropped
    this.#dropped = 0
    return dropped
  }

  /** Resolves when a line is queued or the signal is aborted. */
  async waitForLine(signal: AbortSignal): Promise<void> {
    if (this.#lines.length > 0 || signal.aborted) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const wake = (): void => resolve()
    this.#wake = wake
    signal.addEventListener('abort', wake, { once: true })
    await promise
    signal.removeEventListener('abort', wake)
    this.#wake = undefined
  }
}
