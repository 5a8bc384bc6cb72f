/** Call costs of Kubernetes' libraries. */
import { traversalFactor } from '../cost.ts'
import {
  estimateMatch,
  estimateTraversal,
  exactly,
  product,
  scale,
  sum,
  type Estimate,
  type Operand,
} from '../estimate.ts'
import { searchCost } from '../standard/regular-expressions.ts'
import { typeArguments } from '../type.ts'
import { ListValue, MapValue, type Value } from '../value.ts'

/** Cost of a function that reads the whole string. */
export function stringTraversalCost(text: string): number {
  return Math.ceil(text.length * traversalFactor)
}

/** Functions that read a string once, such as parsers. */
export const byStringTraversal = { cost: stringTraversalCost, estimatedCost: estimateTraversal }

/** Functions that search a regular expression. At most each character is a match. */
export const bySearch = {
  cost: searchCost,
  estimatedCost: estimateMatch,
  resultSize: ({ size }: Operand): Estimate => ({ min: 0n, max: size.max }),
}

/** Functions that visit each element of a list once. */
export const byDeepTraversal = { cost: deepTraversalCost, estimatedCost: estimateDeepTraversal }

/** One step per element, and reading it if it is a string; a string is read once. */
function estimateDeepTraversal(target: Operand): Estimate {
  const { type, size, elementSize } = target
  if (elementSize === undefined) return estimateTraversal(target)
  const kind = typeArguments(type)[0]?.kind
  const isText = kind === 'string' || kind === 'bytes'
  const elementCost = isText ? sum(exactly(1), scale(elementSize, traversalFactor)) : exactly(1)
  return product(size, elementCost)
}

/** Estimates a regular expression as one state per four characters, each of which reads the text. */
export function matchCost(text: string, patternLength: number): number {
  return Math.ceil((1 + text.length) * traversalFactor) * Math.ceil(patternLength * 0.25)
}

/** Cost of visiting everything in a value once. Uses an explicit stack: clients control the depth. */
function deepTraversalCost(value: Value): number {
  const pending: Value[] = [value]
  let cost = 0
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (typeof next === 'string' || next instanceof Uint8Array)
      cost += Math.floor(next.length * traversalFactor)
    else if (next instanceof ListValue) for (const item of next) pending.push(item)
    else if (next instanceof MapValue) {
      for (const key of next.keys()) pending.push(key, next.get(key) ?? null)
    } else cost += 1
  }
  return cost
}
