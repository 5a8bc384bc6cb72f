import { LruMap } from '#/base/lru-map.ts'
import { labelOf } from '#/api/labels.ts'
import { emptySnapshot, type Snapshot } from '../../snapshot.ts'

/** Maximum number of cached topology keys; evicted ones are rebuilt. */
const keysMax = 256

/**
 * Domains are numbered in order of appearance. The topology is rebuilt when there are far more numbers than
 * nodes.
 */
const domainsPerNodeMax = 2
const domainsSpare = 1_000

/** The domains of a topology key: nodes with the same label value. */
export class Topology {
  readonly key: string
  readonly #domains = new Map<string, number>()
  #version = emptySnapshot.version
  #at = new Int32Array(0)

  constructor(key: string) {
    this.key = key
  }

  /** Number of domains ever seen; all domain numbers are below it. */
  get size(): number {
    return this.#domains.size
  }

  /** Domain by position of the node; -1 for none. The array is never modified. */
  at(snapshot: Snapshot): Int32Array {
    if (snapshot.version === this.#version) return this.#at
    const changed = snapshot.changedSince(this.#version)
    if (changed === undefined) {
      this.#at = Int32Array.from(snapshot.nodes, ({ labels }) => this.domainOf(labels))
    } else {
      const moved = changed.filter(
        position => this.#at[position] !== this.domainOf(snapshot.nodes[position]!.labels),
      )
      if (moved.length > 0) this.#at = this.#at.slice()
      for (const position of moved) this.#at[position] = this.domainOf(snapshot.nodes[position]!.labels)
    }
    this.#version = snapshot.version
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
   * The topology of a key. A rebuilt one has different domain numbers; it is never rebuilt within one
   * snapshot.
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
