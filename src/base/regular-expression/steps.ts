import { RegularExpressionError } from './error.ts'

/**
 * Maximum number of steps of one search, about a second of work; a search that exceeds it fails. Only large
 * expressions on long texts reach it, and they would block the event loop.
 */
const stepsMax = 50_000_000

/** Work done by one search. */
export class Steps {
  #left = stepsMax

  take(count: number): void {
    this.#left -= count
    if (this.#left < 0) throw new RegularExpressionError('regular expression takes too long on this text')
  }
}
