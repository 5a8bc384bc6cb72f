import { LruMap } from '#/base/lru-map.ts'
import { labelOf } from '#/api/labels.ts'
import { emptySnapshot, type Snapshot } from '../../snapshot.ts'
import { changedPositions } from './node-changes.ts'

/** Keys that are remembered; past that whoever needs one again begins anew. */
const keysMax = 256

/** A domain is a number. When far more numbers were given out than there are nodes, we begin anew. */
const domainsPerNodeMax = 2
const domainsSpare = 1_000

/** Which nodes are together in a domain, because a label of theirs has the same value. */
export class Topology {
  readonly key: string
  readonly #domains = new Map<string, number>()
  #snapshot = emptySnapshot
  #at = new Int32Array(0)

  constructor(key: string) {
    this.key = key
  }

  /** All domains there ever were have numbers below this. */
  get size(): number {
    return this.#domains.size
  }

  /** By position of the node, its domain; -1 when it is in none. The array never changes. */
  at(snapshot: Snapshot): Int32Array {
    if (snapshot === this.#snapshot) return this.#at
    const changed = changedPositions(this.#snapshot, snapshot)
    if (changed === undefined) {
      this.#at = Int32Array.from(snapshot.nodes, ({ labels }) => this.domainOf(labels))
    } else {
      const moved = changed.filter(
        position => this.#at[position] !== this.domainOf(snapshot.nodes[position]!.labels),
      )
      if (moved.length > 0) this.#at = this.#at.slice()
      for (const position of moved) this.#at[position] = this.domainOf(snapshot.nodes[position]!.labels)
    }
    this.#snapshot = snapshot
    return this.#at
  }

  domainOf(labels: Readonly<Record<string, string>>): number {
    const value = labelOf(labels, this.key)
    if (value === undefined) return -1
    const known = this.#domains.get(value)
    if (known !== undefined) return known
    const made = this.#domains.size
    this.#domains.set(value, made)
    return made
  }
}

export class Topologies {
  readonly #byKey = new LruMap<string, { readonly topology: Topology; snapshot: Snapshot }>(keysMax)

  /**
   * The same for the same key, while numbers last: another one numbers its domains otherwise. It stays the same for all
   * that is asked about one snapshot.
   */
  of(key: string, snapshot: Snapshot): Topology {
    const known = this.#byKey.get(key)
    const sizeMax = snapshot.nodes.length * domainsPerNodeMax + domainsSpare
    if (known !== undefined && (known.snapshot === snapshot || known.topology.size <= sizeMax)) {
      known.snapshot = snapshot
      return known.topology
    }
    const topology = new Topology(key)
    this.#byKey.set(key, { topology, snapshot })
    return topology
  }
}
