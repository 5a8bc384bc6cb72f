import type { Eviction } from '../../framework.ts'
import { startMs } from './importance.ts'

type Price = (eviction: Eviction, nowMs: number) => number

/**
 * Criteria in order; the lowest value wins, and the first candidate if all are equal. The victims of each
 * candidate are sorted by priority, highest first.
 */
const prices: readonly Price[] = [
  ({ violations }) => violations,
  ({ victims }) => victims[0]?.priority ?? 0,
  // Shifted to be non-negative, so that more victims of negative priority are not cheaper than fewer.
  ({ victims }) => victims.reduce((sum, { priority }) => sum + priority + 2 ** 31, 0),
  ({ victims }) => victims.length,
  // Prefers victims that started late: compares the earliest start among those of the highest priority.
  ({ victims }, nowMs) => {
    const highest = victims[0]?.priority
    return -Math.min(
      ...victims.filter(({ priority }) => priority === highest).map(pod => startMs(pod, nowMs)),
    )
  },
]

export function chooseEviction(evictions: readonly Eviction[], nowMs: number): Eviction | undefined {
  let left = evictions
  for (const priceOf of prices) {
    if (left.length < 2) break
    const priced = left.map(eviction => ({ eviction, price: priceOf(eviction, nowMs) }))
    const lowest = priced.reduce((least, { price }) => Math.min(least, price), Infinity)
    left = priced.filter(({ price }) => price === lowest).map(({ eviction }) => eviction)
  }
  return left[0]
}
