import type { Pod } from '#/api/generated/core/v1.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import type { WakeUp } from '../framework.ts'
import type { Profile } from '../profile.ts'
import type { ClusterEvent } from '../queue.ts'

interface ObjectChange {
  readonly before?: KubernetesObject
  readonly after?: KubernetesObject
}

/** Creates cluster events with the queueing hints of the plugins. */
export interface WakeUps {
  readonly eventOf: (resource: Resource, type: WakeUp['on'][number], change: ObjectChange) => ClusterEvent
}

/** Hints are looked up by profile, since profiles may configure the same plugin differently. */
export function wakeUpsOf(
  profiles: readonly Profile[],
  profileOf: (pod: Pod) => Profile | undefined,
): WakeUps {
  const byProfile = new Map(
    profiles.map(profile => [
      profile,
      new Map(profile.plugins.map(({ name, wakeUps }) => [name, wakeUps] as const)),
    ]),
  )
  return {
    eventOf: (resource, type, change) => ({
      mayHelp: (pod, refusedBy) => {
        const profile = profileOf(pod)
        const byPlugin = profile && byProfile.get(profile)
        return refusedBy.keys().some(name => {
          const wakeUps = byPlugin?.get(name)
          // A plugin without registered events is requeued by every event.
          if (wakeUps === undefined) return true
          return wakeUps.some(wakeUp => {
            const isMeant = isSame(wakeUp.resource, resource) && wakeUp.on.includes(type)
            return isMeant && (wakeUp.isHelpful?.(pod, change) ?? true)
          })
        })
      },
    }),
  }
}

function isSame(left: Resource, right: Resource): boolean {
  return left.plural === right.plural && left.group === right.group
}
