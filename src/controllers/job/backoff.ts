/** How long a job waits with the next pod after failures: longer after each in a row, until one succeeds. */
import type { Pod } from '#/api/generated/core/v1.ts'
import { backoffMs } from '#/base/backoff.ts'
import { failuresBefore, finishedAtMs, ignoredFailuresBefore } from './tracked-pods.ts'

/** The failures since the last success, and when the last of them was. */
export interface Failures {
  readonly count: number
  readonly lastMs: number
}

export const noFailures: Failures = { count: 0, lastMs: 0 }

/** With those that have come to an end since. */
export function addEnds(
  failures: Failures,
  ends: { readonly succeeded: readonly Pod[]; readonly failed: readonly Pod[] },
): Failures {
  const succeededMs = ends.succeeded.map(finishedAtMs).reduce((a, b) => Math.max(a, b), -Infinity)
  const times = ends.failed.map(finishedAtMs).filter(timeMs => timeMs > succeededMs)
  const before = ends.succeeded.length > 0 ? noFailures : failures
  return { count: before.count + times.length, lastMs: times.reduce((a, b) => Math.max(a, b), before.lastMs) }
}

/** What the pod, whose index failed with it, knows of its predecessors. */
export function failuresOfIndex(pod: Pod | undefined): Failures {
  if (pod === undefined) return noFailures
  return { count: failuresBefore(pod) + ignoredFailuresBefore(pod) + 1, lastMs: finishedAtMs(pod) }
}

const podBackoff = { initialMs: 10_000, maxMs: 6 * 60_000, factor: 2, jitter: 0 }

/** How long until the next pod may be made; 0 when it may now. */
export function remainingBackoffMs({ count, lastMs }: Failures, nowMs: number): number {
  if (count === 0) return 0
  return Math.max(0, lastMs + backoffMs(count, podBackoff, 0) - nowMs)
}
