import { messageOf } from '#/base/message-of.ts'
import { withCondition } from '#/api/conditions.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import type { PodDisruptionBudget } from '#/api/generated/policy/v1.ts'
import { percentOf, scaledValueRoundedUp } from '#/api/text/int-or-string.ts'
import { isBeingDeleted, type Stored } from '#/api/metadata.ts'
import { formatTime, parseTime } from '#/api/text/time.ts'
import { isPodReady } from '../pods.ts'

export interface ControllerScale {
  readonly uid: string
  readonly replicas: number
}

export interface DisruptionBudgetWorld {
  readonly budget: PodDisruptionBudget
  /** Pods that the budget selects. */
  readonly pods: readonly Stored<Pod>[]
  readonly scales: readonly ControllerScale[] | { readonly error: unknown }
  readonly nowMs: number
}

export interface DisruptionBudgetPlan {
  readonly status: NonNullable<PodDisruptionBudget['status']>
  /** Time until the next entry of `disruptedPods` expires. */
  readonly requeueAfterMs?: number
}

/**
 * Expiry of entries in `disruptedPods`: an evicted pod that still exists after this time is no longer counted
 * as disrupted.
 */
const deletionTimeoutMs = 120_000

export function planDisruptionBudget(world: DisruptionBudgetWorld): DisruptionBudgetPlan {
  const { budget, pods, scales, nowMs } = world
  const observedGeneration = budget.metadata.generation ?? 0
  if ('error' in scales) {
    // Fail safe: allow no disruptions.
    const oldObject = { currentHealthy: 0, desiredHealthy: 0, expectedPods: 0, ...budget.status }
    const conditions = withDisruptionAllowed(budget, ['False', 'SyncFailed', messageOf(scales.error)], nowMs)
    return { status: { ...oldObject, observedGeneration, disruptionsAllowed: 0, conditions } }
  }
  const { disruptedPods, requeueAfterMs } = unexpiredDisruptedPods(budget, pods, nowMs)
  const going = (pod: Stored<Pod>): boolean => disruptedPods[pod.metadata.name] !== undefined
  const currentHealthy = pods.filter(pod => isPodReady(pod) && !isBeingDeleted(pod) && !going(pod)).length
  const { expectedPods, desiredHealthy } = expectations(budget, pods.length, scales)
  const disruptionsAllowed = expectedPods <= 0 ? 0 : Math.max(0, currentHealthy - desiredHealthy)
  const status = {
    currentHealthy,
    desiredHealthy,
    expectedPods,
    disruptionsAllowed,
    observedGeneration,
    ...(Object.keys(disruptedPods).length > 0 && { disruptedPods }),
    conditions: withDisruptionAllowed(
      budget,
      disruptionsAllowed > 0 ? ['True', 'SufficientPods', ''] : ['False', 'InsufficientPods', ''],
      nowMs,
    ),
  }
  return requeueAfterMs === undefined ? { status } : { status, requeueAfterMs }
}

/**
 * An absolute `minAvailable` refers to the existing pods; percentages and `maxUnavailable` refer to the
 * controllers' desired replicas.
 */
function expectations(
  { spec }: PodDisruptionBudget,
  podCount: number,
  scales: readonly ControllerScale[],
): { readonly expectedPods: number; readonly desiredHealthy: number } {
  const wanted = scales.reduce((sum, { replicas }) => sum + replicas, 0)
  if (spec?.maxUnavailable !== undefined) {
    const missing = scaledValueRoundedUp(spec.maxUnavailable, wanted) ?? 0
    return { expectedPods: wanted, desiredHealthy: Math.max(0, wanted - missing) }
  }
  const least = spec?.minAvailable ?? 1
  if (typeof least === 'string' && percentOf(least) !== undefined) {
    return { expectedPods: wanted, desiredHealthy: scaledValueRoundedUp(least, wanted) ?? 0 }
  }
  return { expectedPods: podCount, desiredHealthy: Number(least) }
}

/** Entries of `disruptedPods` that have not expired and still have a pod. */
function unexpiredDisruptedPods(
  { status }: PodDisruptionBudget,
  pods: readonly Stored<Pod>[],
  nowMs: number,
): { readonly disruptedPods: Readonly<Record<string, string>>; readonly requeueAfterMs?: number } {
  const there = new Set(pods.filter(pod => !isBeingDeleted(pod)).map(pod => pod.metadata.name))
  const left = Object.entries(status?.disruptedPods ?? {})
    .map(([name, time]) => ({ name, time, leftMs: (parseTime(time) ?? 0) + deletionTimeoutMs - nowMs }))
    .filter(({ name, leftMs }) => there.has(name) && leftMs > 0)
  const disruptedPods = Object.fromEntries(left.map(({ name, time }) => [name, time]))
  if (left.length === 0) return { disruptedPods }
  return { disruptedPods, requeueAfterMs: Math.min(...left.map(({ leftMs }) => leftMs)) }
}

type Conditions = NonNullable<NonNullable<PodDisruptionBudget['status']>['conditions']>

function withDisruptionAllowed(
  { status, metadata }: PodDisruptionBudget,
  [value, reason, message]: readonly [string, string, string],
  nowMs: number,
): Conditions {
  return withCondition(status?.conditions, {
    type: 'DisruptionAllowed',
    status: value,
    reason,
    message,
    observedGeneration: metadata.generation ?? 0,
    lastTransitionTime: formatTime(nowMs),
  })
}
