import type { NodeInfo } from '../node-info.ts'
import { emptySnapshot, type Snapshot } from '../snapshot.ts'

/**
 * A number for each node, such as a score, which is computed again only for nodes that have changed since the last
 * snapshot.
 */
export class NodeValues {
  readonly #valueOf: (info: NodeInfo) => number
  #version = emptySnapshot.version
  /** By position. */
  #values = new Float64Array(0)

  /** `valueOf` must depend only on the node. */
  constructor(valueOf: (info: NodeInfo) => number) {
    this.#valueOf = valueOf
  }

  /** Returns a function that gives the value of a node; fastest for nodes of the snapshot in their order. */
  at(snapshot: Snapshot): (info: NodeInfo) => number {
    this.#show(snapshot)
    const { nodes, positions, version } = snapshot
    const values = this.#values
    let next = 0
    return info => {
      // Without access to the node itself: going through thousands of them costs mostly cache misses.
      const position = nodes[next] === info ? next : (positions.get(info.name) ?? -1)
      next = position + 1 === nodes.length ? 0 : position + 1
      // Hypothetical nodes, as in preemption, are not those of the snapshot; and another one may be shown meanwhile.
      if (nodes[position] !== info || this.#version !== version) return this.#valueOf(info)
      return values[position]!
    }
  }

  #show(snapshot: Snapshot): void {
    if (snapshot.version === this.#version) return
    const { nodes } = snapshot
    const changed = snapshot.changedSince(this.#version)
    if (changed === undefined) this.#values = Float64Array.from(nodes, this.#valueOf)
    else for (const position of changed) this.#values[position] = this.#valueOf(nodes[position]!)
    this.#version = snapshot.version
  }
}
