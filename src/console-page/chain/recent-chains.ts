import type { WriteRecord } from '#/api/write-record.ts'

/** A request of a client, and what it has caused so far. */
export interface RecentChain {
  readonly root: WriteRecord
  /** Without events and leases. */
  readonly writes: number
  readonly endedMs: number
}

const chainsMax = 100
/** Revisions whose chain is known. */
const revisionsMax = 20_000

/** The latest requests from outside the cluster, from writes in the order of revisions. */
export class RecentChains {
  /** By the revision of the root. */
  readonly #chains = new Map<number, RecentChain>()
  readonly #rootOf = new Map<number, number>()
  readonly #isRoot: (write: WriteRecord) => boolean

  constructor(isRoot: (write: WriteRecord) => boolean) {
    this.#isRoot = isRoot
  }

  /** Returns whether a chain was added or continued. */
  add(write: WriteRecord): boolean {
    const { revision, timeMs, object, origin } = write
    if (this.#isRoot(write)) {
      this.#chains.set(revision, { root: write, writes: 1, endedMs: timeMs })
      this.#remember(revision, revision)
      dropFirst(this.#chains, chainsMax)
      return true
    }
    const root = origin?.pass?.causes.map(cause => this.#rootOf.get(cause)).findLast(Boolean)
    const chain = root === undefined ? undefined : this.#chains.get(root)
    if (root === undefined || chain === undefined) return false
    this.#remember(revision, root)
    if (object.resource === 'events' || object.resource === 'leases') return false
    this.#chains.set(root, { ...chain, writes: chain.writes + 1, endedMs: Math.max(chain.endedMs, timeMs) })
    return true
  }

  latestFirst(): readonly RecentChain[] {
    return [...this.#chains.values()].toReversed()
  }

  #remember(revision: number, root: number): void {
    this.#rootOf.set(revision, root)
    dropFirst(this.#rootOf, revisionsMax)
  }
}

function dropFirst(map: Map<number, unknown>, sizeMax: number): void {
  if (map.size <= sizeMax) return
  const [first] = map.keys()
  if (first !== undefined) map.delete(first)
}
