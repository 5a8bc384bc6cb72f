import type { DaemonSetStatus } from '#/api/generated/apps/v1.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { isPodReady } from '../pods.ts'
import { isUpToDate } from './daemon-pod.ts'
import { isAvailable, type DaemonWorld } from './world.ts'

/** The desired status; identical to `set.status` if nothing changes. */
export function planStatus(world: DaemonWorld & { readonly collisionCount: number }): DaemonSetStatus {
  const { set, hash, daemonNodes, collisionCount } = world
  const wanted = daemonNodes.filter(({ shouldRun }) => shouldRun)
  // The first-ranked pod represents the node.
  const running = wanted.flatMap(({ pods: [first] }) => first ?? [])
  const ready = running.filter(isPodReady)
  const available = ready.filter(pod => isAvailable(pod, world)).length
  const status = {
    currentNumberScheduled: running.length,
    numberMisscheduled: daemonNodes.filter(each => each.exists && !each.shouldRun && each.pods.length > 0)
      .length,
    desiredNumberScheduled: wanted.length,
    numberReady: ready.length,
    ...withoutZeros({
      updatedNumberScheduled: running.filter(pod => isUpToDate(pod, set, hash)).length,
      numberAvailable: available,
      numberUnavailable: wanted.length - available,
    }),
    observedGeneration: set.metadata.generation ?? 0,
    ...((collisionCount > 0 || set.status?.collisionCount !== undefined) && { collisionCount }),
    ...(set.status?.conditions && { conditions: set.status.conditions }),
  }
  return set.status !== undefined && equalJson(set.status, status) ? set.status : status
}

/** Omits zero counts, like `omitempty` upstream. */
function withoutZeros<T extends Readonly<Record<string, number>>>(counts: T): Partial<T> {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0)) as Partial<T>
}
