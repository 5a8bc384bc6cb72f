/**
 * What happened in a simulation, as lines of text with virtual time. The hash covers every line there ever
 * was; the text of the last ones is kept for people. A line holds nothing that differs from process to
 * process: no path of the machine, no stack, no real time.
 */
import { createHash } from 'node:crypto'
import type { VirtualTime } from './virtual-time.ts'

/** Lines whose text is kept; older ones live on in the hash alone. */
export const traceLinesMax = 10_000

/** Characters of a line; the rest is cut, so that logging a whole object does not drown the trace. */
const lineCharactersMax = 2_000

export class Trace {
  readonly #time: VirtualTime
  readonly #hash = createHash('sha256')
  /** A ring: the oldest line is at `#count % traceLinesMax` once it is full. */
  readonly #lines: string[] = []
  #count = 0

  constructor(time: VirtualTime) {
    this.#time = time
  }

  record(who: string, what: string): void {
    const text = `${this.#time.nowMs.toFixed(3)} ${who}: ${what}`.replaceAll('\n', String.raw`\n`)
    const line = text.length > lineCharactersMax ? `${text.slice(0, lineCharactersMax)}...` : text
    this.#hash.update(line).update('\n')
    this.#lines[this.#count % traceLinesMax] = line
    this.#count++
  }

  /** Every line recorded so far counts, also those whose text is gone. */
  hash(): string {
    return this.#hash.copy().digest('hex')
  }

  lines(): readonly string[] {
    if (this.#count <= traceLinesMax) return [...this.#lines]
    const oldest = this.#count % traceLinesMax
    return [...this.#lines.slice(oldest), ...this.#lines.slice(0, oldest)]
  }
}
