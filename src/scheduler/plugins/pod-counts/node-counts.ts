import type { NodeInfo } from '../../node-info.ts'
import type { PodInfo } from '../../pod-info.ts'
import { emptySnapshot, type Snapshot } from '../../snapshot.ts'
import type { LabelSets } from './label-sets.ts'
import { changedPositions } from './node-changes.ts'

/** Number of matching pods on each node. Only nodes with changed pods are recounted. */
export class NodeCounts {
  readonly #all: LabelSets
  readonly #matches: (pod: PodInfo) => boolean
  #snapshot = emptySnapshot
  #at = new Int32Array(0)

  constructor(all: LabelSets, matches: (pod: PodInfo) => boolean) {
    this.#all = all
    this.#matches = matches
  }

  /** By position of the node. The array is modified by a call with a later snapshot. */
  at(snapshot: Snapshot): Int32Array {
    if (snapshot === this.#snapshot) return this.#at
    const changed = changedPositions(this.#snapshot, snapshot)
    if (changed === undefined) this.#at = this.#all.count(this.#matches, snapshot)
    else for (const position of changed) this.#recount(snapshot.nodes[position]!, position)
    this.#snapshot = snapshot
    return this.#at
  }

  #recount({ pods }: NodeInfo, position: number): void {
    if (pods === this.#snapshot.nodes[position]!.pods) return
    let count = 0
    for (const pod of pods) if (this.#matches(pod)) count++
    this.#at[position] = count
  }
}
