import { conditionOf, withCondition } from '#/api/conditions.ts'
import type { Pod, PodCondition } from '#/api/generated/core/v1.ts'
import { isBeingDeleted } from '#/api/metadata.ts'
import { formatTime, parseTime } from '#/api/text/time.ts'
import { isPodTerminal } from '../pods.ts'

/** Time within which a pod with the DisruptionTarget condition should be deleted. */
const announcedMs = 120_000

/**
 * Time until the DisruptionTarget condition is stale, and the conditions with it reset; undefined if the pod
 * has none.
 */
export function staleDisruptionTarget(
  pod: Pod,
  nowMs: number,
): { readonly inMs: number; readonly conditions: readonly PodCondition[] } | undefined {
  const target = conditionOf(pod.status?.conditions, 'DisruptionTarget')
  if (target?.status !== 'True' || isBeingDeleted(pod) || isPodTerminal(pod)) return undefined
  const inMs = (parseTime(target.lastTransitionTime ?? '') ?? 0) + announcedMs - nowMs
  const conditions = withCondition(pod.status?.conditions, {
    type: 'DisruptionTarget',
    status: 'False',
    lastTransitionTime: formatTime(nowMs),
  })
  return { inMs, conditions }
}
