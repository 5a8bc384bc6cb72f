import type { NodeInfo } from '../../node-info.ts'
import type { PodMatcher } from '../pod-counts.ts'
import { emptySnapshot, type Snapshot } from '../../snapshot.ts'
import type { LabelSets } from './label-sets.ts'

/** Number of matching pods on each node. Only changed nodes are recounted. */
export class NodeCounts {
  readonly #all: LabelSets
  readonly #matcher: PodMatcher
  #version = emptySnapshot.version
  #at = new Int32Array(0)

  constructor(all: LabelSets, matcher: PodMatcher) {
    this.#all = all
    this.#matcher = matcher
  }

  /** By position of the node. The array is modified by a call with another snapshot. */
  at(snapshot: Snapshot): Int32Array {
    if (snapshot.version === this.#version) return this.#at
    const changed = snapshot.changedSince(this.#version)
    if (changed === undefined) this.#at = this.#all.count(this.#matcher, snapshot)
    else for (const position of changed) this.#recount(snapshot.nodes[position]!, position)
    this.#version = snapshot.version
    return this.#at
  }

  #recount({ pods }: NodeInfo, position: number): void {
    let count = 0
    for (const pod of pods) if (this.#matcher.matches(pod)) count++
    this.#at[position] = count
  }
}
