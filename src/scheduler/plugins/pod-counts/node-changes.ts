/** What became of nodes from one snapshot to another; nodes that stayed the same are the same values. */
import type { NodeInfo } from '../../node-info.ts'
import { emptySnapshot, type Snapshot } from '../../snapshot.ts'

interface Changes {
  readonly before: Snapshot
  readonly after: Snapshot
  readonly positions: readonly number[] | undefined
}

/** Who counts one thing counts others too, and asks the same question for each. */
let last: Changes = { before: emptySnapshot, after: emptySnapshot, positions: [] }

/** Where other nodes are than before; undefined when they are in another order altogether. */
export function changedPositions(before: Snapshot, after: Snapshot): readonly number[] | undefined {
  if (last.before === before && last.after === after) return last.positions
  last = { before, after, positions: findChanged(before, after) }
  return last.positions
}

/** Calls with each node that is not what it was: one that came had nothing before, one that went has nothing after. */
export function eachChange(
  before: Snapshot,
  after: Snapshot,
  visit: (before: NodeInfo | undefined, after: NodeInfo | undefined) => void,
): void {
  const positions = changedPositions(before, after)
  if (positions !== undefined) {
    for (const position of positions) visit(before.nodes[position], after.nodes[position])
    return
  }
  for (const info of before.nodes) {
    const now = after.get(info.name)
    if (now !== info) visit(info, now)
  }
  for (const info of after.nodes) if (!before.positions.has(info.name)) visit(undefined, info)
}

function findChanged(before: Snapshot, after: Snapshot): readonly number[] | undefined {
  if (before.positions !== after.positions) return undefined
  const changed: number[] = []
  for (let position = 0; position < after.nodes.length; position++) {
    if (after.nodes[position] !== before.nodes[position]) changed.push(position)
  }
  return changed
}
