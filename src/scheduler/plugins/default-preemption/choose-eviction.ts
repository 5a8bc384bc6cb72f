import type { Eviction } from '../../framework.ts'
import { startMs } from './importance.ts'

type Price = (eviction: Eviction, nowMs: number) => number

/**
 * What is compared, one after the other, until one is the cheapest; the first of those that are left otherwise. The
 * victims of each are sorted: the most important first.
 */
const prices: readonly Price[] = [
  ({ violations }) => violations,
  ({ victims }) => victims[0]?.priority ?? 0,
  // All priorities above zero, so that more victims of a negative priority are not cheaper than fewer.
  ({ victims }) => victims.reduce((sum, { priority }) => sum + priority + 2 ** 31, 0),
  ({ victims }) => victims.length,
  // Rather those that have not run for long: of the most important ones, the one that started first.
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
