/** Backoff of pod creation after consecutive failures. */
import type { Pod } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { backoffMs } from '#/base/backoff.ts'
import { failuresBefore, finishedAtMs, ignoredFailuresBefore } from './tracked-pods.ts'

/** Number of failures since the last success, and the time of the last one. */
export interface Failures {
  readonly count: number
  readonly lastMs: number
}

export const noFailures: Failures = { count: 0, lastMs: 0 }

/** Adds pods that have finished since. */
export function addFinished(
  failures: Failures,
  finished: { readonly succeeded: readonly Stored<Pod>[]; readonly failed: readonly Stored<Pod>[] },
): Failures {
  const succeededMs = finished.succeeded.map(finishedAtMs).reduce((a, b) => Math.max(a, b), -Infinity)
  const times = finished.failed.map(finishedAtMs).filter(timeMs => timeMs > succeededMs)
  const before = finished.succeeded.length > 0 ? noFailures : failures
  return { count: before.count + times.length, lastMs: times.reduce((a, b) => Math.max(a, b), before.lastMs) }
}

/** Failures of an index, from the annotations of its last failed pod. */
export function failuresOfIndex(pod: Stored<Pod> | undefined): Failures {
  if (pod === undefined) return noFailures
  return { count: failuresBefore(pod) + ignoredFailuresBefore(pod) + 1, lastMs: finishedAtMs(pod) }
}

const podBackoff = { initialMs: 10_000, maxMs: 6 * 60_000, factor: 2, jitter: 0 }

/** Time until the next pod may be created; 0 if now. */
export function remainingBackoffMs({ count, lastMs }: Failures, nowMs: number): number {
  if (count === 0) return 0
  return Math.max(0, lastMs + backoffMs(count, podBackoff, 0) - nowMs)
}
