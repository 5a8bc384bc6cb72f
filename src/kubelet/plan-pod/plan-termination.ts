import type { ObservedContainer, ObservedPod } from '../observed-pod.ts'
import type { PodAction, PodPlan, PodSyncInput } from '../plan-pod.ts'
import { killContainers } from './kill-containers.ts'

/**
 * Terminates a pod: kills containers, stops sandboxes, then releases volumes and cgroups. Exited containers
 * are kept for inspection, or removed with the pod.
 */
export function planTermination(input: PodSyncInput): PodPlan {
  const { pod, observed, termination } = input
  const alive = observed.containers.filter(isRunningOrUnknown)
  const grace = termination?.graceSeconds
  const reason = grace === undefined ? {} : { graceSeconds: grace }
  if (alive.length > 0 || input.starting.size > 0 || input.isCreatingSandbox) {
    return { actions: killContainers(pod, alive, reason), waiting: new Map(), stage: 'terminating' }
  }
  const toStop = observed.sandboxes.filter(({ id, isReady }) => isReady || !input.stoppedSandboxes.has(id))
  if (toStop.length > 0) {
    const actions = toStop.map(({ id }) => ({ type: 'stop-sandbox' as const, id }))
    return { actions, waiting: new Map(), stage: 'terminating' }
  }
  return { actions: planLeftovers(input), waiting: new Map(), stage: 'terminated' }
}

/** True if the container is running or its state is unknown. */
export function isRunningOrUnknown({ state }: ObservedContainer): boolean {
  return state === 'running' || state === 'unknown'
}

function planLeftovers({ observed, isReleased, termination }: PodSyncInput): readonly PodAction[] {
  if (!isReleased) return [{ type: 'release' }]
  if (termination?.isRemoved !== true) return termination?.removesContainers ? planContainerGc(observed) : []
  const actions = planRemoval(observed)
  return actions.length > 0 ? actions : [{ type: 'finish' }]
}

/** Removing a container removes its log, too. */
function planContainerGc({ sandboxes, containers }: ObservedPod): readonly PodAction[] {
  if (containers.length === 0) return sandboxes.map(({ id }) => ({ type: 'remove-sandbox', id }))
  return containers.map(({ id, name, attempt }) => ({ type: 'remove-container', id, name, attempt }))
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
