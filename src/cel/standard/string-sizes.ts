/** Estimated sizes of the results of string functions. */
import { traversalFactor } from '../cost.ts'
import { exactly, product, saturate, scale, sum, type Estimate, type Operand, uint64 } from '../estimate.ts'

/** Every character may be escaped; the quotation marks are added. */
export function quotedSize({ size: { min, max } }: Operand): Estimate {
  return { min: min + 2n, max: uint64(max * 2n + 2n) }
}

/** An empty separator splits between all characters; a limit is used if it is a literal. */
export function splitSize({ size }: Operand, _separator: Operand, limit?: Operand): Estimate {
  const max = typeof limit?.literal === 'bigint' ? uint64(limit.literal) : size.max
  return { min: 0n, max }
}

/** Size of all elements and of the separators between them. */
export function joinedSize({ size, elementSize }: Operand, separator?: Operand): Estimate {
  const elements = elementSize === undefined ? exactly(0) : product(size, elementSize)
  if (separator === undefined) return elements
  const separators = { min: lessOne(size.min), max: lessOne(size.max) }
  return sum(elements, product(separator.size, separators))
}

export function estimateJoin(values: Operand, separator?: Operand): Estimate {
  return scale(joinedSize(values, separator), traversalFactor)
}

/** The longest result replaces the shortest string with the longest one, the shortest result the reverse. */
export function replacedSize({ size }: Operand, from: Operand, to: Operand): Estimate {
  const grows = to.size.max > from.size.min
  const shrinks = to.size.min < from.size.max
  return {
    min: replacedLength(size.min, { from: from.size.max, to: to.size.min, isChanged: shrinks }),
    max: replacedLength(size.max, { from: from.size.min, to: to.size.max, isChanged: grows }),
  }
}

interface Replacement {
  readonly from: bigint
  readonly to: bigint
  readonly isChanged: boolean
}

/** The empty string matches around all characters. */
function replacedLength(length: bigint, { from, to, isChanged }: Replacement): bigint {
  if (from === 0n) return saturate(saturate(length + 1n) * to + length)
  if (!isChanged) return length
  return saturate(BigInt(Math.ceil(Number(length) / Number(from))) * to)
}

function lessOne(size: bigint): bigint {
  return size > 0n ? size - 1n : 0n
}
