import type { Pod } from '#/api/generated/core/v1.ts'
import { resizedContainers } from '../container-resize.ts'
import { latestInSandbox, latestOf, usableSandbox, type ObservedPod } from '../observed-pod.ts'
import type { PodAction, PodPlan, PodWorld } from '../plan-pod.ts'
import { restartsAll, shouldRestart } from '../pod-containers.ts'
import { ContainerPlan } from './container-plan.ts'
import { killContainers } from './kill-containers.ts'
import { isAlive, planEnding } from './plan-ending.ts'
import { planInit } from './plan-init.ts'
import { planPrune } from './plan-prune.ts'
import { planRegular } from './plan-regular.ts'

export function planRunning(world: PodWorld): PodPlan {
  const { pod, observed } = world
  const sandbox = usableSandbox(pod, observed)
  if (sandbox === undefined) return planSandbox(world)
  const restarted = planRestartOfAll(world)
  if (restarted !== undefined) return restarted
  const plan = new ContainerPlan(world, sandbox.id)
  plan.add(...planVolumes(world))
  for (const container of pod.spec?.ephemeralContainers ?? []) {
    // Ephemeral containers are never restarted.
    if (latestOf(observed, container.name) === undefined) plan.start(container)
  }
  const progress = planInit(world, plan)
  if (progress === 'failed') return planEnding(world)
  if (progress === 'initialized' && planRegular(world, plan) === 'done') return planEnding(world)
  if (resizedContainers(world).length > 0) plan.add({ type: 'resize-containers' })
  plan.add(...planPrune(world))
  return plan.result()
}

/** Kills all remaining containers before a new sandbox is created. */
function planSandbox(world: PodWorld): PodPlan {
  const { pod, observed, sandboxRetryAtMs: again, nowMs, stoppedSandboxes } = world
  if (!runsAgain(pod, observed)) return planEnding(world)
  const alive = observed.containers.filter(isAlive)
  const toStop = observed.sandboxes.filter(({ id, isReady }) => isReady || !stoppedSandboxes.has(id))
  if (alive.length > 0) return running(killContainers(pod, alive, {}))
  if (toStop.length > 0) return running(toStop.map(({ id }) => ({ type: 'stop-sandbox', id })))
  if (again > nowMs) return { ...running(planVolumes(world)), againAtMs: again }
  const [last] = observed.sandboxes
  const first = pod.spec?.initContainers?.[0] ?? pod.spec?.containers[0]
  return running([
    {
      type: 'create-sandbox',
      attempt: last === undefined ? 0 : last.attempt + 1,
      isReplacement: last !== undefined,
    },
    ...planVolumes(world),
    ...(first ? [{ type: 'fetch-image' as const, name: first.name }] : []),
  ])
}

function running(actions: readonly PodAction[]): PodPlan {
  return { actions, waiting: new Map(), stage: 'running' }
}

function planVolumes({ areVolumesReady, volumesRetryAtMs, nowMs }: PodWorld): readonly PodAction[] {
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
function planRestartOfAll({ pod, observed, starting }: PodWorld): PodPlan | undefined {
  const { initContainers = [], containers = [] } = pod.spec ?? {}
  const sources = [...initContainers, ...containers].filter(container => {
    const latest = latestInSandbox(observed, container.name)
    return latest?.state === 'exited' && restartsAll(container, latest.exitCode)
  })
  if (sources.length === 0) return undefined
  const own = observed.containers.filter(({ name }) => {
    return [...initContainers, ...containers].some(container => container.name === name)
  })
  const alive = own.filter(isAlive)
  if (alive.length > 0) return running(killContainers(pod, alive, { message: 'killing', graceSeconds: 0 }))
  if (starting.size > 0) return running([])
  const others = own.filter(({ name }) => !sources.some(container => container.name === name))
  return running(
    (others.length > 0 ? others : own).map(({ id, name, attempt }) => {
      return { type: 'remove-container', id, name, attempt }
    }),
  )
}
