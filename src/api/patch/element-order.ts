import type { JsonValue } from '../text/json-value.ts'
import type { Scalar } from '../text/json-object.ts'

/** An item of a merged list with its identity. */
export interface Element {
  readonly id: Scalar
  readonly item: JsonValue
}

/**
 * Orders the items of a merged list. Items named by the patch have the order of the patch, remaining items
 * their old order. The two groups are interleaved by old position; a new item comes before the remaining
 * items at that point.
 */
export function normalizeElementOrder(
  elements: readonly Element[],
  { patchOrder, serverOrder }: { patchOrder: readonly Scalar[]; serverOrder: readonly Scalar[] },
): JsonValue[] {
  const rank = positions(patchOrder)
  const place = positions(serverOrder)
  const theirs = elements.filter(element => !rank.has(element.id))
  const ours = elements
    .filter(element => rank.has(element.id))
    .sort((left, right) => (rank.get(left.id) ?? 0) - (rank.get(right.id) ?? 0))
  const items: JsonValue[] = []
  let next = 0
  for (const element of ours) {
    const limit = place.get(element.id) ?? -1
    for (; next < theirs.length; next++) {
      const other = theirs[next]
      if (other === undefined || (place.get(other.id) ?? limit) >= limit) break
      items.push(other.item)
    }
    items.push(element.item)
  }
  for (const element of theirs.slice(next)) items.push(element.item)
  return items
}

/** True if the common items have the same order in both lists. */
export function sameOrder(left: readonly Scalar[], right: readonly Scalar[]): boolean {
  const [inLeft, inRight] = [new Set(left), new Set(right)]
  const common = left.filter(id => inRight.has(id))
  return right.filter(id => inLeft.has(id)).every((id, index) => id === common[index])
}

/** Index of the first occurrence of each. */
function positions(ids: readonly Scalar[]): ReadonlyMap<Scalar, number> {
  const result = new Map<Scalar, number>()
  for (const [index, id] of ids.entries()) if (!result.has(id)) result.set(id, index)
  return result
}
