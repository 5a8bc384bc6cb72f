import type { IPBlock } from '#/api/generated/networking/v1.ts'
import { firstAddress, lastAddress, parseCidr } from '#/api/net/cidr.ts'
import { bitsOf, formatIp, type IpFamily } from '#/api/net/ip.ts'

/**
 * The addresses of a family in any of the blocks, as disjoint ranges `10.0.0.0-10.0.0.9`. Overlapping blocks are
 * admitted by the API but not by an interval set of the kernel.
 */
export function blockRanges(blocks: readonly IPBlock[], family: IpFamily): readonly string[] {
  const allowed = blocks.flatMap(({ cidr, except = [] }) => {
    const without = mergeRanges(except.flatMap(text => rangeOf(text, family)))
    return subtractRanges(rangeOf(cidr, family), without)
  })
  const last = (1n << BigInt(bitsOf(family))) - 1n
  return mergeRanges(allowed).map(([from, to]) => {
    // Sets without an end need a prefix.
    if (from === 0n && to === last) return family === 4 ? '0.0.0.0/0' : '::/0'
    const [first, end] = [from, to].map(value => formatIp({ family, value }))
    return first === end ? `${first}` : `${first}-${end}`
  })
}

function rangeOf(text: string, family: IpFamily): readonly NumberRange[] {
  const cidr = parseCidr(text)
  return cidr?.family === family ? [[firstAddress(cidr).value, lastAddress(cidr).value]] : []
}

/** First and last, both included. */
type NumberRange = readonly [first: bigint, last: bigint]

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
function subtractRanges(
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
