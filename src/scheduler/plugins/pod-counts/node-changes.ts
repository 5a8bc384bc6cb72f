/** Differences between two snapshots; unchanged nodes are identical objects. */
import type { NodeInfo } from '../../node-info.ts'
import { emptySnapshot, type Snapshot } from '../../snapshot.ts'

interface Changes {
  readonly before: Snapshot
  readonly after: Snapshot
  readonly positions: readonly number[] | undefined
}

/** Caches the last result, since several counters compare the same snapshots. */
let last: Changes = { before: emptySnapshot, after: emptySnapshot, positions: [] }

/** Positions of changed nodes; undefined if the order of the nodes has changed. */
export function changedPositions(before: Snapshot, after: Snapshot): readonly number[] | undefined {
  if (last.before === before && last.after === after) return last.positions
  last = { before, after, positions: findChanged(before, after) }
  return last.positions
}

/** Visits each changed node: `before` is undefined for an added node, `after` for a removed one. */
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
