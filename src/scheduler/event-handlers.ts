/** Event handlers of the pod and node informers: they keep the cache, the queue and the nominator current. */
import type { NodeCondition, Pod } from '#/api/generated/core/v1.ts'
import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import { equalJson } from '#/api/text/json-value.ts'
import type { KubernetesObject, Stored } from '#/api/metadata.ts'
import type { Change } from '#/client/informer.ts'
import type { Informers } from '#/client/informers.ts'
import type { Clock } from '#/platform/platform.ts'
import type { ClusterEvents } from './cluster-events.ts'
import type { Decisions } from './cycle/decisions.ts'
import { eventLabel } from './event-label.ts'
import type { SchedulerMetrics } from './metrics.ts'
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
  readonly clock: Clock
  readonly metrics: SchedulerMetrics
  /** True if one of the profiles schedules the pod. */
  readonly isResponsibleFor: (pod: Stored<Pod>) => boolean
}

export function addEventHandlers(options: EventHandlersOptions): void {
  const { informers, cache, events, clock, metrics } = options
  informers.of(nodes).addEventHandler((name, { oldObject, newObject }) => {
    const startMs = clock.monotonicMs()
    if (newObject === undefined) cache.removeNode(name)
    else if (oldObject === undefined || nodeSchedulingPropertiesChanged(oldObject, newObject))
      cache.setNode(newObject)
    else return
    events.occurred(nodes, { oldObject, newObject })
    metrics.eventHandled(eventLabel(nodes, { oldObject, newObject }), startMs)
  })
  informers.of(pods).addEventHandler((key, change) => {
    const startMs = clock.monotonicMs()
    podChanged(key, change, options)
    metrics.eventHandled(eventLabel(pods, change), startMs)
  })
}

function podChanged(key: string, change: Change<Pod>, options: EventHandlersOptions): void {
  const { oldObject, newObject } = change
  const { cache, queue, nominator, decisions } = options
  const uid = (newObject ?? oldObject).metadata.uid
  const pending = newObject !== undefined && isPending(newObject) ? newObject : undefined
  if (pending === undefined) {
    queue.delete(key)
    if (nominator.nodeOf(uid) !== undefined) nominator.nominate(podInfoOf(oldObject ?? newObject), undefined)
  }
  const lastNode = newObject === undefined ? cache.nodeOf(uid) : undefined
  if (newObject === undefined) {
    decisions.delete(key)
    cache.removePod(oldObject)
  } else if (newObject.spec?.nodeName) {
    cache.setPod(newObject)
  } else if (pending !== undefined && options.isResponsibleFor(pending) && !cache.isAssumed(uid)) {
    const isNominationLost = nominator.updateFromStatus(oldObject, pending)
    const isChanged = oldObject === undefined || podSchedulingPropertiesChanged(oldObject, pending)
    queue.addOrUpdate(pending, isNominationLost || isChanged)
  }
  assignedPodChanged(change, lastNode, options)
}

/**
 * Only assigned pods affect unschedulable pods. A terminated pod, or an assumed one that was deleted, counts
 * as removed.
 */
function assignedPodChanged(
  { oldObject, newObject }: Change<Pod>,
  lastNode: string | undefined,
  { events }: EventHandlersOptions,
): void {
  const assignedBefore = oldObject !== undefined && isAssigned(oldObject) ? oldObject : undefined
  if (newObject !== undefined && isAssigned(newObject))
    events.occurred(pods, { oldObject: assignedBefore, newObject })
  else if (assignedBefore !== undefined) events.occurred(pods, { oldObject: assignedBefore })
  else if (lastNode !== undefined) events.occurred(pods, { oldObject: assignedTo(oldObject!, lastNode) })
}

/** Status updates by the scheduler itself are ignored. */
function podSchedulingPropertiesChanged(oldObject: Pod, newObject: Pod): boolean {
  return (
    !equalJson(oldObject.spec, newObject.spec) ||
    !equalJson(oldObject.metadata.labels, newObject.metadata.labels) ||
    !equalJson(oldObject.status?.resourceClaimStatuses, newObject.status?.resourceClaimStatuses)
  )
}

/** Heartbeats are ignored. */
function nodeSchedulingPropertiesChanged(oldObject: KubernetesObject, newObject: KubernetesObject): boolean {
  const properties = (object: KubernetesObject): unknown => {
    const { spec, status } = object as { spec?: object; status?: Record<string, unknown> }
    const { conditions = [], ...rest } = status ?? {}
    const states = (conditions as readonly NodeCondition[]).map(({ type, status: state }) => [type, state])
    return [object.metadata.labels, object.metadata.annotations, spec, rest, states]
  }
  return !equalJson(properties(oldObject), properties(newObject))
}
