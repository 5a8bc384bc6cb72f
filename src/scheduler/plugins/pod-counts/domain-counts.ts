import type { NodeInfo } from '../../node-info.ts'
import { emptySnapshot, type Snapshot } from '../../snapshot.ts'
import type { NodeCounts } from './node-counts.ts'
import type { Topology } from './topology.ts'

export interface DomainCountsOptions {
  readonly topology: Topology
  readonly pods: NodeCounts
  /** Selects the nodes that count; all when absent. Must depend only on the node. */
  readonly isIncluded: ((info: NodeInfo) => boolean) | undefined
}

/** Number of matching pods in each domain, updated incrementally between snapshots. */
export class DomainCounts {
  readonly topology: Topology
  readonly #pods: NodeCounts
  readonly #isIncluded: DomainCountsOptions['isIncluded']
  #version = emptySnapshot.version
  /** Contribution of each node, by position: its domain, -1 if it does not count, and its pods. */
  #domainAt = new Int32Array(0)
  #countAt = new Int32Array(0)
  /** By domain. */
  #sums = new Int32Array(0)
  #nodes = new Int32Array(0)

  constructor({ topology, pods, isIncluded }: DomainCountsOptions) {
    this.topology = topology
    this.#pods = pods
    this.#isIncluded = isIncluded
  }

  /** Pods by domain; the array is modified when another snapshot is shown. */
  get sums(): Int32Array {
    return this.#sums
  }

  /** Number of counted nodes by domain; a domain without nodes does not exist. */
  get nodes(): Int32Array {
    return this.#nodes
  }

  show(snapshot: Snapshot): void {
    if (snapshot.version === this.#version) return
    const changed = snapshot.changedSince(this.#version)
    const domains = this.topology.at(snapshot)
    const counts = this.#pods.at(snapshot)
    if (changed === undefined) this.#beginAnew(snapshot.nodes.length)
    this.#grow()
    const count = changed === undefined ? snapshot.nodes.length : changed.length
    for (let index = 0; index < count; index++) {
      const position = changed === undefined ? index : changed[index]!
      const isIncluded = this.#isIncluded?.(snapshot.nodes[position]!) ?? true
      this.#set(position, isIncluded ? domains[position]! : -1, counts[position]!)
    }
    this.#version = snapshot.version
  }

  #set(position: number, domain: number, count: number): void {
    const domainBefore = this.#domainAt[position]!
    if (domainBefore !== -1) {
      this.#sums[domainBefore]! -= this.#countAt[position]!
      this.#nodes[domainBefore]!--
    }
    if (domain !== -1) {
      this.#sums[domain]! += count
      this.#nodes[domain]!++
    }
    this.#domainAt[position] = domain
    this.#countAt[position] = count
  }

  #beginAnew(nodeCount: number): void {
    this.#domainAt = new Int32Array(nodeCount).fill(-1)
    this.#countAt = new Int32Array(nodeCount)
    this.#sums = new Int32Array(this.topology.size)
    this.#nodes = new Int32Array(this.topology.size)
  }

  #grow(): void {
    const { size } = this.topology
    if (size <= this.#sums.length) return
    this.#sums = grown(this.#sums, size)
    this.#nodes = grown(this.#nodes, size)
  }
}

function grown(array: Int32Array, size: number): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(size)
  larger.set(array)
  return larger
}
