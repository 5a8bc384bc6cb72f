import type { WriteRecord } from '#/api/write-record.ts'
import type { EndedPass } from '#/client/pass-log.ts'
import type { TraceTarget } from '../trace.ts'
import { CausalChain, isReport, isSibling } from './causal-chain.ts'
import type { FoundRoot } from './find-root.ts'

export interface ChainOptions extends FoundRoot {
  readonly target: TraceTarget
  /** Includes events, and what happened after the chain was quiet. */
  readonly isComplete: boolean
}

/** A chain ends when nothing that it caused began for so long. */
const quietMs = 600_000

const hopsMax = 2_000

/** The root and everything that it caused, within the bounds. Writes are offered in the order of their revisions. */
export class ChainSelection {
  readonly writes: WriteRecord[]
  readonly passes: EndedPass[] = []
  readonly #options: ChainOptions
  readonly #chain: CausalChain
  #lastMs: number
  #isCut = false
  #isQuiet = false

  constructor(options: ChainOptions) {
    const { root } = options
    this.#options = options
    this.writes = [root]
    this.#chain = new CausalChain([root.revision])
    this.#lastMs = root.timeMs
  }

  /** When the last hop ended. */
  get lastMs(): number {
    return this.#lastMs
  }

  /** Whether there was no room for a hop. */
  get isCut(): boolean {
    return this.#isCut
  }

  offerWrite(write: WriteRecord): void {
    const { root, path, target, isComplete } = this.#options
    if (write.revision <= root.revision || !this.#chain.isCausedBy(write.origin?.pass?.causes ?? [])) return
    const isOnPath = path.has(write.revision)
    if (!isOnPath && (isSibling(write, target) || (!isComplete && isReport(write)))) return
    if (!isOnPath && !this.#isInTime(write.origin?.pass?.queuedMs ?? write.timeMs)) return
    if (!this.#hasRoom()) return
    this.#chain.visit(write)
    this.writes.push(write)
    this.#lastMs = Math.max(this.#lastMs, write.timeMs)
  }

  /** After all writes. */
  offerPass(pass: EndedPass): void {
    if (!this.#chain.isCausedBy(pass.causes) || !this.#isInTime(pass.queuedMs) || !this.#hasRoom()) return
    this.passes.push(pass)
    this.#lastMs = Math.max(this.#lastMs, pass.endedMs)
  }

  notes(): readonly string[] {
    return [
      ...(this.#isCut ? [`only the first ${hopsMax} hops are shown`] : []),
      ...(this.#isQuiet ? ['what happened after the chain was quiet for 10 minutes is left out'] : []),
    ]
  }

  #isInTime(beginMs: number): boolean {
    if (this.#options.isComplete || beginMs <= this.#lastMs + quietMs) return true
    this.#isQuiet = true
    return false
  }

  #hasRoom(): boolean {
    if (this.writes.length + this.passes.length < hopsMax) return true
    this.#isCut = true
    return false
  }
}
