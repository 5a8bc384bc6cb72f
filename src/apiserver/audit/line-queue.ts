/** Lines that wait to be written. At the bound new ones are dropped, since a slow disk must not stop the server. */
import { Deque } from '#/base/deque.ts'

export interface LineQueueBounds {
  readonly linesMax: number
  readonly bytesMax: number
}

export class LineQueue {
  readonly #bounds: LineQueueBounds
  readonly #lines = new Deque<string>()
  #bytes = 0
  #dropped = 0
  #wake: (() => void) | undefined

  constructor(bounds: LineQueueBounds) {
    this.#bounds = bounds
  }

  get length(): number {
    return this.#lines.length
  }

  /** False when it was dropped. */
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

  /** How many were dropped since this was last asked. */
  takeDropped(): number {
    const dropped = this.#dropped
    this.#dropped = 0
    return dropped
  }

  /** Resolves when there is a line, or when aborted. */
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
