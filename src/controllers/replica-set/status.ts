import { conditionOf, withoutCondition } from '#/api/conditions.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { selectorFromLabels } from '#/api/selectors/selector.ts'
import { formatTime } from '#/api/text/time.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { isPodAvailable, isPodReady } from '../pods.ts'
import type { ReplicaSetLike } from './replica-set-like.ts'

/** Reason why pods could not be created or deleted; becomes the ReplicaFailure condition. */
export interface ReplicaFailure {
  readonly reason: 'FailedCreate' | 'FailedDelete'
  readonly message: string
  readonly error: unknown
}

/** The desired status; identical to `set.status` if nothing changes. */
export function planStatus(world: {
  readonly set: ReplicaSetLike
  /** Pods of the set that are neither finished nor being deleted. */
  readonly active: readonly Pod[]
  /** Pods of the set that are being deleted. */
  readonly terminating: readonly Pod[]
  readonly failure: ReplicaFailure | undefined
  readonly nowMs: number
}): ReplicaSetLike['status'] {
  const { set, active, terminating, failure, nowMs } = world
  const { minReadySeconds = 0, template } = set.spec ?? {}
  const templateSelector = selectorFromLabels(template?.metadata?.labels)
  const count = (isCounted: (pod: Pod) => boolean): number => active.filter(isCounted).length
  const conditions = conditionsOf(set, failure, nowMs)
  const status = {
    replicas: active.length,
    fullyLabeledReplicas: count(pod => templateSelector.matches(pod.metadata.labels ?? {})),
    readyReplicas: count(isPodReady),
    availableReplicas: count(pod => isPodAvailable(pod, minReadySeconds, nowMs)),
    ...(set.kind === 'ReplicaSet' && { terminatingReplicas: terminating.length }),
    observedGeneration: set.metadata.generation ?? 0,
    ...(conditions && conditions.length > 0 && { conditions }),
  }
  const before = { replicas: 0, ...set.status }
  return equalJson(withoutZeros(before), withoutZeros(status)) && set.status !== undefined
    ? set.status
    : withoutZeros(status)
}

type Status = NonNullable<ReplicaSetLike['status']>

/** Omits zero counts, like `omitempty` upstream; `replicas` and `terminatingReplicas` are always present. */
function withoutZeros(status: Status): Status {
  const entries = Object.entries(status).filter(
    ([name, value]) => value !== 0 || name === 'replicas' || name === 'terminatingReplicas',
  )
  return Object.fromEntries(entries) as unknown as Status
}

/**
 * The first failure is kept until none remains: the message differs on every attempt, and each status update
 * would trigger other controllers.
 */
function conditionsOf(
  set: ReplicaSetLike,
  failure: ReplicaFailure | undefined,
  nowMs: number,
): Status['conditions'] {
  const before = set.status?.conditions
  if (failure === undefined) return withoutCondition(before, 'ReplicaFailure')
  if (conditionOf(before, 'ReplicaFailure')) return before
  const { reason, message } = failure
  const lastTransitionTime = formatTime(nowMs)
  return [...(before ?? []), { type: 'ReplicaFailure', status: 'True', reason, message, lastTransitionTime }]
}
