import type { ObservedContainer, ObservedPod } from '../observed-pod.ts'
import type { PodAction, PodPlan, PodWorld } from '../plan-pod.ts'
import { killContainers } from './kill-containers.ts'

/**
 * Terminates a pod: kills containers, stops sandboxes, then releases volumes and cgroups. Exited containers
 * are kept for inspection, or removed with the pod.
 */
export function planEnding(world: PodWorld): PodPlan {
  const { pod, observed, ending } = world
  const alive = observed.containers.filter(isAlive)
  const grace = ending?.graceSeconds
  const reason = grace === undefined ? {} : { graceSeconds: grace }
  if (alive.length > 0 || world.starting.size > 0 || world.isMakingSandbox) {
    return { actions: killContainers(pod, alive, reason), waiting: new Map(), stage: 'ending' }
  }
  const toStop = observed.sandboxes.filter(({ id, isReady }) => isReady || !world.stoppedSandboxes.has(id))
  if (toStop.length > 0) {
    const actions = toStop.map(({ id }) => ({ type: 'stop-sandbox' as const, id }))
    return { actions, waiting: new Map(), stage: 'ending' }
  }
  return { actions: planLeftovers(world), waiting: new Map(), stage: 'ended' }
}

/** True if the container is running or its state is unknown. */
export function isAlive({ state }: ObservedContainer): boolean {
  return state === 'running' || state === 'unknown'
}

function planLeftovers({ observed, isReleased, ending }: PodWorld): readonly PodAction[] {
  if (!isReleased) return [{ type: 'release' }]
  if (ending?.isRemoved !== true) return []
  const actions = planRemoval(observed)
  return actions.length > 0 ? actions : [{ type: 'finish' }]
}

/** Removing a sandbox removes its containers. */
function planRemoval({ sandboxes, containers }: ObservedPod): readonly PodAction[] {
  const isOfSandbox = ({ sandboxId }: ObservedContainer): boolean =>
    sandboxes.some(({ id }) => id === sandboxId)
  return [
    ...containers
      .filter(container => !isOfSandbox(container))
      .map(({ id, name, attempt }) => ({ type: 'remove-container' as const, id, name, attempt })),
    ...sandboxes.map(({ id }) => ({ type: 'remove-sandbox' as const, id })),
  ]
}
