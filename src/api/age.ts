/**
 * A table cell that shows the time since a moment. All other cells depend on the object alone, so that a row is
 * rendered once and only its ages are filled in when it is sent.
 */
import { humanDuration } from './text/duration.ts'

export class Age {
  readonly #sinceMs: number
  readonly #prefix: string
  readonly #suffix: string

  constructor(sinceMs: number, { prefix = '', suffix = '' } = {}) {
    this.#sinceMs = sinceMs
    this.#prefix = prefix
    this.#suffix = suffix
  }

  /** In kubectl's format: `3h12m`. */
  textAt(nowMs: number): string {
    return `${this.#prefix}${humanDuration(nowMs - this.#sinceMs)}${this.#suffix}`
  }
}
