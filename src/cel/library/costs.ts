/** Call costs of Kubernetes' libraries. */
import { traversalFactor } from '../cost.ts'
import { ListValue, MapValue, type Value } from '../value.ts'

/** Cost of a function that reads the whole string. */
export function stringTraversalCost(text: string): number {
  return Math.ceil(text.length * traversalFactor)
}

/** Estimates a regular expression as one state per four characters, each of which reads the text. */
export function matchCost(text: string, patternLength: number): number {
  return Math.ceil((1 + text.length) * traversalFactor) * Math.ceil(patternLength * 0.25)
}

/** Cost of visiting everything in a value once. Uses an explicit stack: clients control the depth. */
export function deepTraversalCost(value: Value): number {
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
