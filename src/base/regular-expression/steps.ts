import { RegularExpressionError } from './error.ts'

/**
 * Steps that one search may take, about a second of work; then it fails. Only large expressions on long
 * texts come near it, and without it they would keep everybody waiting.
 */
const stepsMax = 50_000_000

/** How much one search has worked. */
export class Steps {
  #left = stepsMax

  take(count: number): void {
    this.#left -= count
    if (this.#left < 0) throw new RegularExpressionError('regular expression takes too long on this text')
  }
}
