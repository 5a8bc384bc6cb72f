import type { WriteRecord } from '#/api/write-record.ts'
import { CausalChain, isTarget } from '../plan/causal-chain.ts'
import type { TraceTarget } from '../trace.ts'

/** Other writes that are remembered: one of the target's may turn out to be caused by them. */
const recentMax = 2_000

/** More are not followed. */
const keptMax = 20_000

/** What a trace is planned from while it is followed: the writes of the target and of its chain, and recent ones. */
export class FollowedWrites {
  readonly #target: TraceTarget
  readonly #kept = new Map<number, WriteRecord>()
  #chain = new CausalChain([])
  #root: number | undefined
  #recent: WriteRecord[] = []

  constructor(target: TraceTarget) {
    this.#target = target
  }

  get isFull(): boolean {
    return this.#kept.size >= keptMax
  }

  all(): readonly WriteRecord[] {
    return [...this.#kept.values(), ...this.#recent]
  }

  /** In the order of revisions. Returns whether the trace may change. */
  add(write: WriteRecord): boolean {
    if (this.isFull || this.#kept.has(write.revision)) return false
    if (this.#chain.visit(write) || isTarget(write, this.#target)) {
      this.#kept.set(write.revision, write)
      return true
    }
    this.#recent.push(write)
    if (this.#recent.length > recentMax) this.#recent.shift()
    return false
  }

  /** From now on the chain of this root is kept, with what is known of it already. */
  followRoot(revision: number): void {
    if (revision === this.#root) return
    this.#root = revision
    this.#chain = new CausalChain([revision])
    const known = this.all().toSorted((left, right) => left.revision - right.revision)
    this.#kept.clear()
    this.#recent = []
    for (const write of known) this.add(write)
  }
}
