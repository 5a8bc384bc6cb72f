import type { Container } from '#/api/generated/core/v1.ts'
import { containerHash } from '../container-labels.ts'
import { resizeActionOf } from '../container-resize.ts'
import { latestOf, type ObservedContainer } from '../observed-pod.ts'
import type { PodSyncInput } from '../plan-pod.ts'
import { restartsOnFailure, shouldRestart } from '../pod-containers.ts'
import type { ContainerPlan } from './container-plan.ts'
import type { KillCause } from './kill-containers.ts'

/** Returns `done` if no container is running or will be restarted. */
export function planRegular(input: PodSyncInput, plan: ContainerPlan): 'going-on' | 'done' {
  const { pod, observed } = input
  let goesOn = false
  for (const container of pod.spec?.containers ?? []) {
    const latest = latestOf(observed, container.name)
    if (latest?.state === 'running') {
      if (input.starting.has(container.name)) plan.holdOthers()
      goesOn = keepContainer(input, plan, { container, latest }) || goesOn
    } else if (latest?.state === 'exited' && !runsAgain(input, container, latest)) {
      continue
    } else if (latest?.state === 'unknown') {
      goesOn = true
      plan.kill(latest, { message: 'Container is in "unknown" state, try killing it before restart' })
    } else {
      goesOn = true
      plan.start(container)
    }
  }
  return goesOn ? 'going-on' : 'done'
}

/** Returns true if the container is running or will be restarted. */
function keepContainer(
  input: PodSyncInput,
  plan: ContainerPlan,
  { container, latest }: { readonly container: Container; readonly latest: ObservedContainer },
): boolean {
  const verdict = input.toKill.get(latest.id)
  if (verdict !== undefined) plan.kill(latest, { message: verdict })
  const fault = verdict === undefined ? faultOf(input, container, latest) : undefined
  const mustResize = verdict === undefined && resizeActionOf(input, container, latest) === 'restart'
  if (fault === undefined && mustResize) {
    plan.kill(latest, { message: `Container ${container.name} resize requires restart`, isRestarted: true })
  }
  if (fault === undefined) return true
  const { message, cause } = fault
  // If the spec has changed, the container is restarted regardless of the restart policy.
  const isRestarted = cause === undefined || restartsOnFailure(input.pod, container)
  const reason = { message: isRestarted ? `${message}, will be restarted` : message, isRestarted }
  plan.kill(latest, cause === undefined ? reason : { ...reason, cause })
  return true
}

function faultOf(
  input: PodSyncInput,
  container: Container,
  { id, hash }: ObservedContainer,
): { readonly message: string; readonly cause?: KillCause } | undefined {
  const { name } = container
  if (hash !== containerHash(container)) return { message: `Container ${name} definition changed` }
  const { liveness, startup } = input.probes(id)
  if (liveness === 'failure') {
    return { message: `Container ${name} failed liveness probe`, cause: 'liveness' }
  }
  return startup === 'failure'
    ? { message: `Container ${name} failed startup probe`, cause: 'startup' }
    : undefined
}

function runsAgain(
  { pod, restarting }: PodSyncInput,
  container: Container,
  { id, exitCode }: ObservedContainer,
): boolean {
  return restarting.has(id) || shouldRestart(pod, container, exitCode)
}
