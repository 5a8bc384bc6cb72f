import type { Pod } from '#/api/generated/core/v1.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import type { ClusterEventWithHint } from '../framework.ts'
import type { Profile } from '../profile.ts'
import type { ClusterEvent } from '../queue.ts'

interface ObjectChange {
  readonly before?: KubernetesObject
  readonly after?: KubernetesObject
}

/** Creates cluster events with the queueing hints of the plugins. */
export interface QueueingHints {
  readonly eventOf: (
    resource: Resource,
    type: ClusterEventWithHint['on'][number],
    change: ObjectChange,
  ) => ClusterEvent
}

/** Hints are looked up by profile, since profiles may configure the same plugin differently. */
export function queueingHintsOf(
  profiles: readonly Profile[],
  profileOf: (pod: Pod) => Profile | undefined,
): QueueingHints {
  const byProfile = new Map(
    profiles.map(profile => [
      profile,
      new Map(profile.plugins.map(({ name, eventsToRegister }) => [name, eventsToRegister] as const)),
    ]),
  )
  return {
    eventOf: (resource, type, change) => ({
      queueingHint: (pod, rejectedBy) => {
        const profile = profileOf(pod)
        const byPlugin = profile && byProfile.get(profile)
        return rejectedBy.keys().some(name => {
          const eventsToRegister = byPlugin?.get(name)
          // A plugin without registered events is requeued by every event.
          if (eventsToRegister === undefined) return true
          return eventsToRegister.some(event => {
            const isRegistered = isSame(event.resource, resource) && event.on.includes(type)
            return isRegistered && (event.queueingHint?.(pod, change) ?? true)
          })
        })
      },
    }),
  }
}

function isSame(left: Resource, right: Resource): boolean {
  return left.plural === right.plural && left.group === right.group
}
