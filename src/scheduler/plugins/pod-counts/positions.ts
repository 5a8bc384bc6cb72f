import type { NodeInfo } from '../../node-info.ts'
import type { Snapshot } from '../../snapshot.ts'

/**
 * Returns a function that gives the position of a node in the snapshot, -1 if absent. Sequential access needs
 * no lookup.
 */
export function positionsIn({ nodes, positions }: Snapshot): (node: NodeInfo) => number {
  let next = 0
  return node => {
    const position = nodes[next] === node ? next : (positions.get(node.name) ?? -1)
    next = position + 1 === nodes.length ? 0 : position + 1
    return position
  }
}
