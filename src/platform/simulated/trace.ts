/**
 * The events of a simulation as lines of text with virtual time. The hash covers every line; the text of the
 * last ones is kept for diagnosis. A line contains nothing that differs between processes: no paths of the
 * machine, no stacks, no real time.
 */
import { createHash } from 'node:crypto'
import type { VirtualTime } from './virtual-time.ts'

/** Maximum lines kept as text; older ones remain only in the hash. */
export const traceLinesMax = 10_000

/** Maximum length of a line; the rest is cut, so that logged objects do not flood the trace. */
const lineCharactersMax = 2_000

export class Trace {
  readonly #time: VirtualTime
  readonly #hash = createHash('sha256')
  /** A ring buffer: the oldest line is at `#count % traceLinesMax` once it is full. */
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

  /** Covers every line recorded so far, including those no longer kept as text. */
  hash(): string {
    return this.#hash.copy().digest('hex')
  }

  lines(): readonly string[] {
    if (this.#count <= traceLinesMax) return [...this.#lines]
    const oldest = this.#count % traceLinesMax
    return [...this.#lines.slice(oldest), ...this.#lines.slice(0, oldest)]
  }
}
