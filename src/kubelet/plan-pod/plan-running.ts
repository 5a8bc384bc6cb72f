import type { Pod } from '#/api/generated/core/v1.ts'
import { resizedContainers } from '../container-resize.ts'
import { latestInSandbox, latestOf, usableSandbox, type ObservedPod } from '../observed-pod.ts'
import type { PodAction, PodPlan, PodSyncInput } from '../plan-pod.ts'
import { restartsAllContainers, shouldRestart } from '../pod-containers.ts'
import { ContainerPlan } from './container-plan.ts'
import { killContainers } from './kill-containers.ts'
import { isRunningOrUnknown, planTermination } from './plan-termination.ts'
import { planInit } from './plan-init.ts'
import { planRegular } from './plan-regular.ts'

export function planRunning(input: PodSyncInput): PodPlan {
  const { pod, observed } = input
  const sandbox = usableSandbox(pod, observed)
  if (sandbox === undefined) return planSandbox(input)
  const restarted = planRestartOfAll(input)
  if (restarted !== undefined) return restarted
  const plan = new ContainerPlan(input, sandbox.id)
  plan.add(...planVolumes(input))
  for (const container of pod.spec?.ephemeralContainers ?? []) {
    // Ephemeral containers are never restarted.
    if (latestOf(observed, container.name) === undefined) plan.start(container)
  }
  const progress = planInit(input, plan)
  if (progress === 'failed') return planTermination(input)
  if (progress === 'initialized' && planRegular(input, plan) === 'done') return planTermination(input)
  if (resizedContainers(input).length > 0) plan.add({ type: 'resize-containers' })
  plan.add(...planContainerGc(input))
  return plan.result()
}

/** Kills all remaining containers before a new sandbox is created. */
function planSandbox(input: PodSyncInput): PodPlan {
  const { pod, observed, sandboxRetryAtMs: again, nowMs, stoppedSandboxes } = input
  if (!runsAgain(pod, observed)) return planTermination(input)
  const alive = observed.containers.filter(isRunningOrUnknown)
  const toStop = observed.sandboxes.filter(({ id, isReady }) => isReady || !stoppedSandboxes.has(id))
  if (alive.length > 0) return running(killContainers(pod, alive, {}))
  if (toStop.length > 0) return running(toStop.map(({ id }) => ({ type: 'stop-sandbox', id })))
  if (again > nowMs) return { ...running(planVolumes(input)), againAtMs: again }
  const [last] = observed.sandboxes
  const first = pod.spec?.initContainers?.[0] ?? pod.spec?.containers[0]
  return running([
    {
      type: 'create-sandbox',
      attempt: last === undefined ? 0 : last.attempt + 1,
      isReplacement: last !== undefined,
    },
    ...planVolumes(input),
    ...(first ? [{ type: 'fetch-image' as const, name: first.name }] : []),
  ])
}

function running(actions: readonly PodAction[]): PodPlan {
  return { actions, waiting: new Map(), stage: 'running' }
}

function planVolumes({ areVolumesReady, volumesRetryAtMs, nowMs }: PodSyncInput): readonly PodAction[] {
  return areVolumesReady || volumesRetryAtMs > nowMs ? [] : [{ type: 'prepare-volumes' }]
}

/** True if a pod that has lost its sandbox still has containers to run. */
function runsAgain(pod: Pod, observed: ObservedPod): boolean {
  if (observed.sandboxes.length === 0 || observed.containers.length === 0) return true
  if (pod.spec?.restartPolicy === 'Never') return false
  const { containers = [] } = pod.spec ?? {}
  const hasBegun = containers.some(({ name }) => latestOf(observed, name) !== undefined)
  if (!hasBegun) return true
  return containers.some(container => {
    const latest = latestOf(observed, container.name)
    return latest?.state !== 'exited' || shouldRestart(pod, container, latest.exitCode)
  })
}

/**
 * Restarts all containers if the exit of one matches a RestartAllContainers rule. The others are killed
 * without a grace period and removed; the container that triggered it is removed last, so that the trigger
 * stays visible until then.
 */
function planRestartOfAll({ pod, observed, starting }: PodSyncInput): PodPlan | undefined {
  const { initContainers = [], containers = [] } = pod.spec ?? {}
  const sources = [...initContainers, ...containers].filter(container => {
    const latest = latestInSandbox(observed, container.name)
    return latest?.state === 'exited' && restartsAllContainers(container, latest.exitCode)
  })
  if (sources.length === 0) return undefined
  const own = observed.containers.filter(({ name }) => {
    return [...initContainers, ...containers].some(container => container.name === name)
  })
  const alive = own.filter(isRunningOrUnknown)
  if (alive.length > 0) return running(killContainers(pod, alive, { message: 'killing', graceSeconds: 0 }))
  if (starting.size > 0) return running([])
  const others = own.filter(({ name }) => !sources.some(container => container.name === name))
  return running(
    (others.length > 0 ? others : own).map(({ id, name, attempt }) => {
      return { type: 'remove-container', id, name, attempt }
    }),
  )
}

/** The newest container of each name and its predecessor are kept for logs and exit status. */
const keptContainers = 2

/** Removes exited containers that are no longer needed, and empty old sandboxes. */
function planContainerGc({ pod, observed, starting }: PodSyncInput): readonly PodAction[] {
  const { sandboxes, containers } = observed
  const initNames = new Set(pod.spec?.initContainers?.map(({ name }) => name))
  const newest = sandboxes[0]?.id
  const counts = new Map<string, number>()
  const stale = containers.filter(container => {
    const { name, sandboxId } = container
    const count = (counts.get(name) ?? 0) + 1
    counts.set(name, count)
    if (isRunningOrUnknown(container) || starting.has(name)) return false
    return count > keptContainers || (initNames.has(name) && sandboxId !== newest)
  })
  const empty = sandboxes.slice(1).filter(({ id, isReady }) => {
    return !isReady && !containers.some(container => container.sandboxId === id && !stale.includes(container))
  })
  return [
    ...stale.map(({ id, name, attempt }) => ({ type: 'remove-container' as const, id, name, attempt })),
    ...empty.map(({ id }) => ({ type: 'remove-sandbox' as const, id })),
  ]
}
