/** The last passes of the components of a process that write nothing to the API, such as the service proxy and DNS. */
import type { Pass } from '#/api/origin.ts'

export interface EndedPass extends Pass {
  /** Wall time. */
  readonly endedMs: number
}

const passesMax = 256

export class PassLog {
  /** Ascending by time; the oldest are dropped. */
  readonly #passes: EndedPass[] = []

  record(pass: EndedPass): void {
    this.#passes.push(pass)
    if (this.#passes.length > passesMax) this.#passes.shift()
  }

  /** Those that ended after this wall time. */
  list(afterMs: number): readonly EndedPass[] {
    return this.#passes.filter(({ endedMs }) => endedMs > afterMs)
  }
}
