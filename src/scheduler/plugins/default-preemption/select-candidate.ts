import type { PreemptionCandidate } from '../../framework.ts'
import { startMs } from './importance.ts'

type Criterion = (candidate: PreemptionCandidate, nowMs: number) => number

/**
 * Criteria in order; the lowest value wins, and the first candidate if all are equal. The victims of each
 * candidate are sorted by priority, highest first.
 */
const criteria: readonly Criterion[] = [
  ({ pdbViolations }) => pdbViolations,
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

export function selectCandidate(
  candidates: readonly PreemptionCandidate[],
  nowMs: number,
): PreemptionCandidate | undefined {
  let left = candidates
  for (const criterion of criteria) {
    if (left.length < 2) break
    const rated = left.map(candidate => ({ candidate, value: criterion(candidate, nowMs) }))
    const lowest = rated.reduce((least, { value }) => Math.min(least, value), Infinity)
    left = rated.filter(({ value }) => value === lowest).map(({ candidate }) => candidate)
  }
  return left[0]
}
