/**
 * Cluster events: a change of an object may make unschedulable pods schedulable. The plugins that rejected a
 * pod decide with their queueing hints if the pod is requeued.
 */
import type { Pod } from '#/api/generated/core/v1.ts'
import type { KubernetesObject, Stored } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import type { HandledChange } from '#/client/informer.ts'
import type { Clock } from '#/platform/platform.ts'
import { eventLabel } from './event-label.ts'
import type { ClusterEventWithHint } from './framework.ts'
import type { QueueingHintMetrics, SchedulerMetrics } from './metrics.ts'
import type { Profile } from './profile.ts'
import type { ClusterEvent, SchedulingQueue } from './queue.ts'

export interface ClusterEventsOptions {
  readonly queue: SchedulingQueue
  readonly profiles: readonly Profile[]
  readonly profileOf: (pod: Stored<Pod>) => Profile | undefined
  readonly clock: Clock
  readonly metrics: SchedulerMetrics
  /** Of the informers whose handlers report the events. */
  readonly handled?: HandledChange
}

/** The state before and after an event: without `oldObject` it is an addition, without `newObject` a deletion. */
interface ObjectChange<T extends KubernetesObject> {
  readonly oldObject?: Stored<T> | undefined
  readonly newObject?: Stored<T> | undefined
}

type RegisteredEvents = ReadonlyMap<string, readonly ClusterEventWithHint[] | undefined>

export class ClusterEvents {
  readonly #queue: SchedulingQueue
  readonly #profileOf: (pod: Stored<Pod>) => Profile | undefined
  /** By profile, since profiles may configure the same plugin differently; then by plugin name. */
  readonly #registered: ReadonlyMap<Profile, RegisteredEvents>
  readonly #clock: Clock
  readonly #metrics: SchedulerMetrics
  readonly #handled: HandledChange | undefined
  /** By plugin, then by label of the event. */
  readonly #hintMetrics = new Map<string, Map<string, QueueingHintMetrics>>()

  constructor({ queue, profiles, profileOf, clock, metrics, handled }: ClusterEventsOptions) {
    this.#queue = queue
    this.#handled = handled
    this.#profileOf = profileOf
    this.#clock = clock
    this.#metrics = metrics
    this.#registered = new Map(
      profiles.map(profile => {
        const events = profile.plugins.map(({ name, eventsToRegister }) => [name, eventsToRegister] as const)
        return [profile, new Map(events)]
      }),
    )
  }

  /** Requeues the unschedulable pods that the event may help; `isAffected` excludes further pods. */
  occurred<T extends KubernetesObject>(
    resource: Resource<T>,
    change: ObjectChange<T>,
    isAffected: (pod: Stored<Pod>) => boolean = () => true,
  ): void {
    if (!this.#queue.hasEventConsumers) return
    const { label, queueingHint } = this.#eventOf(resource, change)
    this.#queue.moveAllToActiveOrBackoffQueue({
      label,
      revision: this.#handled?.revision,
      queueingHint: (pod, plugins) => isAffected(pod) && queueingHint(pod, plugins),
    })
  }

  #eventOf(
    resource: Resource,
    { oldObject: before, newObject: after }: ObjectChange<KubernetesObject>,
  ): ClusterEvent {
    const type = before === undefined ? 'add' : after === undefined ? 'delete' : 'update'
    const change = { ...(before && { before }), ...(after && { after }) }
    const label = eventLabel(resource, { oldObject: before, newObject: after })
    return {
      label,
      queueingHint: (pod, rejectedBy) => {
        const profile = this.#profileOf(pod)
        const byPlugin = profile && this.#registered.get(profile)
        return rejectedBy.keys().some(name => {
          const events = byPlugin?.get(name)
          // A plugin without registered events is requeued by every event.
          if (events === undefined) return true
          return events.some(event => {
            const isRegistered = isSame(event.resource, resource) && event.on.includes(type)
            if (!isRegistered || event.queueingHint === undefined) return isRegistered
            const startMs = this.#clock.monotonicMs()
            const isHelpful = event.queueingHint(pod, change)
            const seconds = (this.#clock.monotonicMs() - startMs) / 1_000
            this.#hintMetricsOf(name, label)[isHelpful ? 'queue' : 'skip'].observe(seconds)
            return isHelpful
          })
        })
      },
    }
  }

  #hintMetricsOf(plugin: string, label: string): QueueingHintMetrics {
    return this.#hintMetrics
      .getOrInsertComputed(plugin, () => new Map<string, QueueingHintMetrics>())
      .getOrInsertComputed(label, () => this.#metrics.queueingHint(plugin, label))
  }
}

function isSame(left: Resource, right: Resource): boolean {
  return left.plural === right.plural && left.group === right.group
}
