/** Event handlers of the pod and node informers: they keep the cache, the queue and the nominator current. */
import type { NodeCondition, Pod } from '#/api/generated/core/v1.ts'
import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import { equalJson } from '#/api/json-value.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Informers } from '#/client/informers.ts'
import type { ClusterEvents } from './cluster-events.ts'
import type { Decisions } from './cycle/decisions.ts'
import type { Nominator } from './nominator.ts'
import { assignedTo, isAssigned, isPending } from './pod-assignment.ts'
import { podInfoOf } from './pod-info.ts'
import type { SchedulingQueue } from './queue.ts'
import type { SchedulerCache } from './scheduler-cache.ts'

export interface EventHandlersOptions {
  readonly informers: Informers
  readonly cache: SchedulerCache
  readonly queue: SchedulingQueue
  readonly nominator: Nominator
  readonly events: ClusterEvents
  readonly decisions: Decisions
  /** True if one of the profiles schedules the pod. */
  readonly isResponsibleFor: (pod: Pod) => boolean
}

export function addEventHandlers(options: EventHandlersOptions): void {
  const { informers, cache, events } = options
  informers.of(nodes).onChange((name, { before, after }) => {
    if (after === undefined) cache.removeNode(name)
    else if (before === undefined || nodeSchedulingPropertiesChanged(before, after)) cache.setNode(after)
    else return
    events.occurred(nodes, { before, after })
  })
  informers.of(pods).onChange((key, change) => podChanged(key, change, options))
}

interface PodChange {
  readonly before?: Pod | undefined
  readonly after?: Pod | undefined
}

function podChanged(key: string, { before, after }: PodChange, options: EventHandlersOptions): void {
  const { cache, queue, nominator, decisions } = options
  const uid = (after ?? before)?.metadata?.uid ?? ''
  const pending = after !== undefined && isPending(after) ? after : undefined
  if (pending === undefined) {
    queue.delete(key)
    if (nominator.nodeOf(uid) !== undefined) nominator.nominate(podInfoOf((before ?? after)!), undefined)
  }
  const lastNode = after === undefined ? cache.nodeOf(uid) : undefined
  if (after === undefined) {
    decisions.delete(key)
    cache.removePod(before!)
  } else if (after.spec?.nodeName) {
    cache.setPod(after)
  } else if (pending !== undefined && options.isResponsibleFor(pending) && !cache.isAssumed(uid)) {
    const isNominationLost = nominator.updateFromStatus(before, pending)
    const isChanged = before === undefined || podSchedulingPropertiesChanged(before, pending)
    queue.addOrUpdate(pending, isNominationLost || isChanged)
  }
  assignedPodChanged({ before, after }, lastNode, options)
}

/**
 * Only assigned pods affect unschedulable pods. A terminated pod, or an assumed one that was deleted, counts
 * as removed.
 */
function assignedPodChanged(
  { before, after }: PodChange,
  lastNode: string | undefined,
  { events }: EventHandlersOptions,
): void {
  const assignedBefore = before !== undefined && isAssigned(before) ? before : undefined
  if (after !== undefined && isAssigned(after)) events.occurred(pods, { before: assignedBefore, after })
  else if (assignedBefore !== undefined) events.occurred(pods, { before: assignedBefore })
  else if (lastNode !== undefined) events.occurred(pods, { before: assignedTo(before!, lastNode) })
}

/** Status updates by the scheduler itself are ignored. */
function podSchedulingPropertiesChanged(before: Pod, after: Pod): boolean {
  return (
    !equalJson(before.spec, after.spec) ||
    !equalJson(before.metadata?.labels, after.metadata?.labels) ||
    !equalJson(before.status?.resourceClaimStatuses, after.status?.resourceClaimStatuses)
  )
}

/** Heartbeats are ignored. */
function nodeSchedulingPropertiesChanged(before: KubernetesObject, after: KubernetesObject): boolean {
  const properties = (object: KubernetesObject): unknown => {
    const { spec, status } = object as { spec?: object; status?: Record<string, unknown> }
    const { conditions = [], ...rest } = status ?? {}
    const states = (conditions as readonly NodeCondition[]).map(({ type, status: state }) => [type, state])
    return [object.metadata?.labels, object.metadata?.annotations, spec, rest, states]
  }
  return !equalJson(properties(before), properties(after))
}
