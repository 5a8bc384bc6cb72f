import type { StatefulSet, StatefulSetStatus } from '#/api/generated/apps/v1.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { isBeingDeleted } from '#/api/metadata.ts'
import { isPodAvailable } from '../pods.ts'
import { revisionOf } from './identity.ts'
import { isRunningAndReady } from './partition-by-ordinal.ts'

/** The desired status; identical to `set.status` if nothing changes. */
export function planStatus(world: {
  readonly set: StatefulSet
  /** All pods that the set controls. */
  readonly pods: readonly Pod[]
  readonly currentRevision: string
  readonly updateRevision: string
  readonly collisionCount: number
  readonly nowMs: number
}): StatefulSetStatus {
  const { set, pods, updateRevision, collisionCount, nowMs } = world
  const { replicas: wanted = 1, minReadySeconds = 0 } = set.spec ?? {}
  const ready = pods.filter(isRunningAndReady)
  const isOf = (revision: string, pod: Pod): boolean => !isBeingDeleted(pod) && revisionOf(pod) === revision
  const updated = pods.filter(pod => isOf(updateRevision, pod)).length
  const isComplete = updated === wanted && ready.length === wanted && pods.length === wanted
  const currentRevision = isComplete ? updateRevision : world.currentRevision
  const counts = {
    readyReplicas: ready.length,
    currentReplicas: pods.filter(pod => isOf(currentRevision, pod)).length,
    updatedReplicas: updated,
  }
  const status = {
    observedGeneration: set.metadata.generation ?? 0,
    replicas: pods.length,
    ...withoutZeros(counts),
    availableReplicas: ready.filter(pod => isPodAvailable(pod, minReadySeconds, nowMs)).length,
    ...(currentRevision && { currentRevision }),
    ...(updateRevision && { updateRevision }),
    collisionCount,
    ...(set.status?.conditions && { conditions: set.status.conditions }),
  }
  return set.status !== undefined && equalJson(set.status, status) ? set.status : status
}

/** Omits zero counts, like `omitempty` upstream. */
function withoutZeros<T extends Readonly<Record<string, number>>>(counts: T): Partial<T> {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0)) as Partial<T>
}
