import { conditionOf, withoutCondition } from '#/api/conditions.ts'
import { equalJson } from '#/api/json-value.ts'
import { selectorFromLabels } from '#/api/selector.ts'
import { formatTime } from '#/api/time.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { isPodAvailable, isPodReady } from '../pods.ts'
import type { ReplicatedSet } from './replicated-set.ts'

/** Why the pods of a set could not be made as many as it wants. */
export interface Failure {
  readonly reason: 'FailedCreate' | 'FailedDelete'
  /** For people. */
  readonly message: string
  readonly error: unknown
}

/** The status that a set should have; the very one that it has when that is right. */
export function planStatus(world: {
  readonly set: ReplicatedSet
  /** Those that the set manages and that are neither finished nor on their way out. */
  readonly active: readonly Pod[]
  /** Those that are on their way out. */
  readonly terminating: readonly Pod[]
  readonly failure: Failure | undefined
  readonly nowMs: number
}): ReplicatedSet['status'] {
  const { set, active, terminating, failure, nowMs } = world
  const { minReadySeconds = 0, template } = set.spec ?? {}
  const templateSelector = selectorFromLabels(template?.metadata?.labels)
  const count = (isCounted: (pod: Pod) => boolean): number => active.filter(isCounted).length
  const conditions = conditionsOf(set, failure, nowMs)
  const status = {
    replicas: active.length,
    fullyLabeledReplicas: count(pod => templateSelector.matches(pod.metadata?.labels ?? {})),
    readyReplicas: count(isPodReady),
    availableReplicas: count(pod => isPodAvailable(pod, minReadySeconds, nowMs)),
    ...(set.kind === 'ReplicaSet' && { terminatingReplicas: terminating.length }),
    observedGeneration: set.metadata?.generation ?? 0,
    ...(conditions && conditions.length > 0 && { conditions }),
  }
  const before = { replicas: 0, ...set.status }
  return equalJson(withoutZeros(before), withoutZeros(status)) && set.status !== undefined
    ? set.status
    : withoutZeros(status)
}

type Status = NonNullable<ReplicatedSet['status']>

/** Counts that are zero are left out, as Kubernetes leaves them out; the number of replicas is always there. */
function withoutZeros(status: Status): Status {
  const entries = Object.entries(status).filter(
    ([name, value]) => value !== 0 || name === 'replicas' || name === 'terminatingReplicas',
  )
  return Object.fromEntries(entries) as unknown as Status
}

/** The first failure is told until there is none: the text of each try is another, and each telling wakes others. */
function conditionsOf(set: ReplicatedSet, failure: Failure | undefined, nowMs: number): Status['conditions'] {
  const before = set.status?.conditions
  if (failure === undefined) return withoutCondition(before, 'ReplicaFailure')
  if (conditionOf(before, 'ReplicaFailure')) return before
  const { reason, message } = failure
  const lastTransitionTime = formatTime(nowMs)
  return [...(before ?? []), { type: 'ReplicaFailure', status: 'True', reason, message, lastTransitionTime }]
}
