import type { DaemonSetStatus } from '#/api/generated/apps/v1.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { isBeingDeleted, type Stored } from '#/api/metadata.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { isPodReady } from '../pods.ts'
import { planRollingUpdate } from './rolling-update.ts'
import { hashLabel, isUpToDate } from './daemon-pod.ts'
import { isAvailable, surgeOf, type DaemonWorld, type DaemonNode } from './world.ts'

export interface DaemonPlan {
  /** Names of nodes for which a pod is created. */
  readonly create: readonly string[]
  readonly delete: readonly Stored<Pod>[]
  /** The finished pods among those deleted. */
  readonly finished: readonly FinishedPod[]
  /** Time until the next failed pod may be replaced. */
  readonly requeueAfterMs: number | undefined
}

export interface FinishedPod {
  readonly pod: Stored<Pod>
  readonly nodeName: string
}

export interface DaemonPlanWorld extends DaemonWorld {
  /** Remaining backoff for replacing a failed pod on the node. */
  readonly backoffMsOn: (nodeName: string) => number
}

/** Maximum number of pods created or deleted by one reconcile; the next one continues. */
const burstReplicas = 250

/**
 * Creates and deletes pods so that each eligible node has one. A rolling update proceeds only when nothing
 * else is to be done.
 */
export function planDaemons(world: DaemonPlanWorld): DaemonPlan {
  const onNodes = world.daemonNodes.map(node => planNode(node, world))
  const create = onNodes.flatMap(plan => plan.create)
  const victims = onNodes.flatMap(plan => plan.delete)
  const waits = onNodes.flatMap(plan => plan.requeueAfterMs ?? [])
  const isSettled = create.length === 0 && victims.length === 0
  const isRolling = world.set.spec?.updateStrategy?.type === 'RollingUpdate'
  const update = isSettled && isRolling ? planRollingUpdate(world) : { create, delete: victims }
  const removed = new Set(update.delete.slice(0, burstReplicas))
  return {
    create: update.create.slice(0, burstReplicas),
    delete: [...removed],
    finished: onNodes.flatMap(plan => plan.finished).filter(({ pod }) => removed.has(pod)),
    requeueAfterMs: waits.length === 0 ? undefined : waits.reduce((least, each) => Math.min(least, each)),
  }
}

const nothing: DaemonPlan = { create: [], delete: [], finished: [], requeueAfterMs: undefined }

function planNode(node: DaemonNode, world: DaemonPlanWorld): DaemonPlan {
  const { nodeName, pods, shouldRun, shouldContinueRunning, exists } = node
  // Pods that were bound to the deleted node are deleted by the pod garbage collector.
  if (!exists) return { ...nothing, delete: pods.filter(({ spec }) => !spec?.nodeName) }
  if (shouldRun && pods.length === 0) return { ...nothing, create: [nodeName] }
  const staying = pods.filter(pod => !isBeingDeleted(pod))
  if (!shouldContinueRunning) return { ...nothing, delete: staying }
  const failed = staying.filter(({ status }) => status?.phase === 'Failed')
  const succeeded = staying.filter(({ status }) => status?.phase === 'Succeeded')
  const running = staying.filter(pod => !failed.includes(pod) && !succeeded.includes(pod))
  // Backoff: a kubelet that rejects the pod would reject its replacement at once.
  const waitMs = failed.length === 0 ? 0 : world.backoffMsOn(nodeName)
  const finished = waitMs > 0 ? succeeded : [...failed, ...succeeded]
  const isSurging = surgeOf(world.set, 1) > 0
  return {
    create: isSurging && running.length === 0 && shouldRun && waitMs === 0 ? [nodeName] : [],
    delete: [...finished, ...(isSurging ? excessWithSurge(running, world) : running.slice(1))],
    finished: finished.map(pod => ({ pod, nodeName })),
    requeueAfterMs: waitMs > 0 ? waitMs : undefined,
  }
}

/**
 * During a rolling update with surge a node may have two pods: an old available one and a new one that is
 * starting.
 */
function excessWithSurge(running: readonly Stored<Pod>[], world: DaemonPlanWorld): readonly Stored<Pod>[] {
  if (running.length < 2) return []
  const isNew = (pod: Pod): boolean => pod.metadata.labels?.[hashLabel] === world.hash
  const newPod = running.find(isNew)
  const oldPod = running.find(pod => !isNew(pod))
  const excess = running.filter(pod => pod !== newPod && pod !== oldPod)
  if (newPod === undefined || oldPod === undefined) return excess
  const isOver = !isPodReady(oldPod) || isAvailable(newPod, world)
  return isOver ? [...excess, oldPod] : excess
}

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
