import type { Container, Pod } from '#/api/generated/core/v1.ts'
import type { ObservedContainer } from '../observed-pod.ts'
import type { KillContainer } from '../plan-pod.ts'
import { findContainer, isSidecar } from '../pod-containers.ts'

/** Grace period of a pod without `terminationGracePeriodSeconds`. */
const graceSecondsUsual = 2

export type KillCause = 'liveness' | 'startup'

export interface KillReason {
  readonly message?: string
  readonly cause?: KillCause
  /** Overrides the pod's grace period. */
  readonly graceSeconds?: number
  readonly isRestarted?: boolean
}

/** Kills a single container. */
export function killContainer(pod: Pod, target: ObservedContainer, reason: KillReason): KillContainer {
  return {
    type: 'kill-container',
    id: target.id,
    name: target.name,
    message: reason.message ?? `Stopping container ${target.name}`,
    graceSeconds: reason.graceSeconds ?? graceSeconds(pod, target.name, reason.cause),
    after: [],
    isRestarted: reason.isRestarted ?? false,
  }
}

/** Kills all targets: sidecars after the main containers, in reverse order. */
export function killContainers(
  pod: Pod,
  targets: readonly ObservedContainer[],
  reason: KillReason,
): readonly KillContainer[] {
  return targets.map(target => ({
    ...killContainer(pod, target, reason),
    after: goingBefore(pod, target.name, targets).map(({ id }) => id),
  }))
}

function goingBefore(
  pod: Pod,
  name: string,
  targets: readonly ObservedContainer[],
): readonly ObservedContainer[] {
  const { initContainers = [], containers = [] } = pod.spec ?? {}
  const index = initContainers.findIndex(container => container.name === name)
  const own = initContainers[index]
  if (own === undefined || !isSidecar(own)) return []
  const before = [...containers, ...initContainers.slice(index + 1).filter(isSidecar)]
  return targets.filter(target => before.some(container => container.name === target.name))
}

function graceSeconds(pod: Pod, name: string, cause: KillCause | undefined): number {
  const { deletionGracePeriodSeconds } = pod.metadata
  if (deletionGracePeriodSeconds !== undefined) return Number(deletionGracePeriodSeconds)
  const ofPod = pod.spec?.terminationGracePeriodSeconds
  if (ofPod === undefined) return graceSecondsUsual
  const ofProbe = probeGraceSeconds(findContainer(pod, name)?.container, cause)
  return ofProbe ?? Number(ofPod)
}

function probeGraceSeconds(
  container: Container | undefined,
  cause: KillCause | undefined,
): number | undefined {
  const probe = cause === 'liveness' ? container?.livenessProbe : container?.startupProbe
  const seconds = cause && probe?.terminationGracePeriodSeconds
  return seconds === undefined ? undefined : Number(seconds)
}
