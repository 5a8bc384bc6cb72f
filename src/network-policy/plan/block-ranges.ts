import type { IPBlock } from '#/api/generated/networking/v1.ts'
import { firstAddress, lastAddress, parseCidr } from '#/api/net/cidr.ts'
import { bitsOf, formatIp, type IpFamily } from '#/api/net/ip.ts'
import { mergeRanges, subtractRanges, type NumberRange } from './merge-ranges.ts'

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
