/** First and last, both included. */
export type NumberRange = readonly [first: bigint, last: bigint]

/** The union as disjoint ranges in ascending order; adjacent ranges become one. */
export function mergeRanges(ranges: readonly NumberRange[]): readonly NumberRange[] {
  const merged: [bigint, bigint][] = []
  for (const [first, last] of ranges.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))) {
    const previous = merged.at(-1)
    if (previous === undefined || first > previous[1] + 1n) merged.push([first, last])
    else if (last > previous[1]) previous[1] = last
  }
  return merged
}

/** What is in `ranges` and not in `without`. Both are merged. */
export function subtractRanges(
  ranges: readonly NumberRange[],
  without: readonly NumberRange[],
): readonly NumberRange[] {
  return ranges.flatMap(([first, last]) => {
    const left: NumberRange[] = []
    let next = first
    for (const [from, to] of without) {
      if (to < next || from > last) continue
      if (from > next) left.push([next, from - 1n])
      next = to + 1n
    }
    return next <= last ? [...left, [next, last] as const] : left
  })
}
