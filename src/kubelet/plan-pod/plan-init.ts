import type { Container } from '#/api/generated/core/v1.ts'
import { containerHash } from '../container-labels.ts'
import { resizeActionOf } from '../container-resize.ts'
import { latestInSandbox, type ObservedContainer } from '../observed-pod.ts'
import type { PodSyncInput } from '../plan-pod.ts'
import { isSidecar, restartsOnFailure, shouldRestart } from '../pod-containers.ts'
import type { ContainerPlan } from './container-plan.ts'

export type InitProgress = 'under-way' | 'initialized' | 'failed'

/**
 * Init containers run in sequence; sidecars keep running. Exited ones may have been removed from the runtime,
 * so only the last one present counts: all before it have completed.
 */
export function planInit(input: PodSyncInput, plan: ContainerPlan): InitProgress {
  const { pod, observed } = input
  const { initContainers = [], containers = [] } = pod.spec ?? {}
  const hasBegun = containers.some(({ name }) => latestInSandbox(observed, name) !== undefined)
  const reached = hasBegun
    ? initContainers.length
    : initContainers.findLastIndex(({ name }) => {
        return latestInSandbox(observed, name) !== undefined || input.starting.has(name)
      })
  for (const container of initContainers.slice(0, Math.max(reached, 0))) {
    if (isSidecar(container)) keepSidecar(input, plan, container)
  }
  const current = initContainers[Math.max(reached, 0)]
  if (hasBegun || current === undefined) return 'initialized'
  const latest = latestInSandbox(observed, current.name)
  const progress =
    latest === undefined ? beginFirst(plan, current) : planCurrent(input, plan, { current, latest })
  if (progress !== 'initialized') return progress
  const next = initContainers[reached + 1]
  if (next === undefined) return 'initialized'
  plan.start(next)
  return 'under-way'
}

function beginFirst(plan: ContainerPlan, container: Container): InitProgress {
  plan.start(container)
  return 'under-way'
}

function planCurrent(
  input: PodSyncInput,
  plan: ContainerPlan,
  { current, latest }: { readonly current: Container; readonly latest: ObservedContainer },
): InitProgress {
  if (isSidecar(current)) {
    keepSidecar(input, plan, current)
    return isStarted(input, current, latest) ? 'initialized' : 'under-way'
  }
  switch (latest.state) {
    case 'running':
      killMarked(input, plan, latest)
      return 'under-way'
    case 'exited':
      if (latest.exitCode === 0) return 'initialized'
      if (!shouldRestart(input.pod, current, latest.exitCode)) return 'failed'
      break
    case 'unknown':
      if (!restartsOnFailure(input.pod, current)) return 'failed'
      plan.kill(latest, { message: 'Init container is in "unknown" state, try killing it before restart' })
      return 'under-way'
    case 'created':
      break
  }
  plan.start(current)
  return 'under-way'
}

/** True if the containers after a sidecar can start. */
function isStarted(
  input: PodSyncInput,
  { name, startupProbe }: Container,
  { id, state }: ObservedContainer,
): boolean {
  if (state !== 'running' || input.starting.has(name)) return false
  return startupProbe === undefined || input.probes(id).startup === 'success'
}

function keepSidecar(input: PodSyncInput, plan: ContainerPlan, container: Container): void {
  const { name } = container
  const latest = latestInSandbox(input.observed, name)
  if (latest?.state === 'unknown') {
    plan.kill(latest, { message: 'Init container is in "unknown" state, try killing it before restart' })
  } else if (latest?.state !== 'running') plan.start(container)
  else if (input.toKill.has(latest.id)) killMarked(input, plan, latest)
  else if (latest.hash !== containerHash(container)) {
    plan.kill(latest, { message: `Init container ${name} definition changed` })
  } else if (resizeActionOf(input, container, latest) === 'restart') {
    plan.kill(latest, { message: `Container ${name} resize requires restart` })
  } else if (input.probes(latest.id).startup === 'failure') {
    plan.kill(latest, { message: `Init container ${name} failed startup probe`, cause: 'startup' })
  } else if (input.probes(latest.id).liveness === 'failure') {
    plan.kill(latest, { message: `Init container ${name} failed liveness probe`, cause: 'liveness' })
  }
}

function killMarked(input: PodSyncInput, plan: ContainerPlan, latest: ObservedContainer): void {
  const message = input.toKill.get(latest.id)
  if (message !== undefined) plan.kill(latest, { message })
}
