import { scaledValueRoundedUp } from '#/api/text/int-or-string.ts'
import type { DaemonSet } from '#/api/generated/apps/v1.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { isBeingDeleted, type Stored } from '#/api/metadata.ts'
import { isUpToDate } from './daemon-pod.ts'
import { isAvailable, surgeOf, type DaemonWorld, type DaemonNode } from './world.ts'

export interface RollingUpdatePlan {
  /** Names of nodes that get a new pod beside the old one. */
  readonly create: readonly string[]
  readonly delete: readonly Stored<Pod>[]
}

/**
 * Selects the next old pods to replace. Without surge, old pods are deleted first and at most
 * `maxUnavailable` nodes are without an available pod; with surge, up to `maxSurge` new pods are created
 * first.
 * https://kubernetes.io/docs/tasks/manage-daemon/update-daemon-set/
 */
export function planRollingUpdate(world: DaemonWorld): RollingUpdatePlan {
  const nodeCount = world.daemonNodes.filter(({ shouldRun }) => shouldRun).length
  const surge = surgeOf(world.set, nodeCount)
  const nodes = world.daemonNodes
    .filter(node => node.shouldRun || node.pods.length > 0)
    .map(node => nodePodsOf(node, world))
  return surge === 0
    ? planWithoutSurge(nodes, { ...world, max: Math.max(1, unavailableOf(world.set, nodeCount)) })
    : planWithSurge(nodes, { ...world, max: surge, nodeCount })
}

interface NodePods {
  readonly node: DaemonNode
  readonly newPod: Pod | undefined
  readonly oldPod: Stored<Pod> | undefined
  /** More than one old or new pod; the excess is deleted first. */
  readonly isCrowded: boolean
}

function nodePodsOf(node: DaemonNode, { set, hash }: DaemonWorld): NodePods {
  const staying = node.pods.filter(pod => !isBeingDeleted(pod))
  const [newPod, ...moreNew] = staying.filter(pod => isUpToDate(pod, set, hash))
  const [oldPod, ...moreOld] = staying.filter(pod => !isUpToDate(pod, set, hash))
  return { node, newPod, oldPod, isCrowded: moreNew.length > 0 || moreOld.length > 0 }
}

function unavailableOf(set: DaemonSet, nodeCount: number): number {
  return scaledValueRoundedUp(set.spec?.updateStrategy?.rollingUpdate?.maxUnavailable ?? 0, nodeCount) ?? 0
}

function planWithoutSurge(
  nodes: readonly NodePods[],
  world: DaemonWorld & { readonly max: number },
): RollingUpdatePlan {
  const old = nodes.flatMap(({ oldPod, newPod, isCrowded }) => {
    return oldPod && newPod === undefined && !isCrowded ? oldPod : []
  })
  const available = nodes.filter(({ oldPod, newPod, isCrowded }) => {
    const only = oldPod && newPod ? undefined : (oldPod ?? newPod)
    return only !== undefined && !isCrowded && isAvailable(only, world)
  })
  const rest = Math.max(0, world.max - (nodes.length - available.length))
  // Pods that are not available do not count against `maxUnavailable`.
  const unavailableOld = old.filter(pod => !isAvailable(pod, world))
  const availableOld = old.filter(pod => isAvailable(pod, world))
  return { create: [], delete: [...unavailableOld, ...availableOld.slice(0, rest)] }
}

function planWithSurge(
  nodes: readonly NodePods[],
  world: DaemonWorld & { readonly max: number; readonly nodeCount: number },
): RollingUpdatePlan {
  const isWorking = (pod: Pod | undefined): boolean => pod !== undefined && isAvailable(pod, world)
  const orderly = nodes.filter(({ isCrowded }) => !isCrowded)
  const pairs = orderly.filter(({ oldPod, newPod }) => oldPod && newPod)
  const single = orderly.filter(({ oldPod, newPod }) => oldPod && newPod === undefined)
  const wanted = single.filter(({ node }) => node.shouldRun)
  const unwanted = single.filter(({ node }) => !node.shouldRun)
  const surging = nodes.length - orderly.length + pairs.filter(({ newPod }) => !isWorking(newPod)).length
  // Pods on nodes that are no longer eligible stay until enough pods are available elsewhere.
  const working = orderly.filter(({ oldPod, newPod }) => isWorking(oldPod ?? newPod)).length
  const dispensable = Math.max(0, working - world.nodeCount)
  const isOldWorking = ({ oldPod }: NodePods): boolean => isWorking(oldPod)
  const replaced = [
    ...pairs.filter(({ newPod }) => isWorking(newPod)),
    ...unwanted.filter(each => !isOldWorking(each)),
    ...unwanted.filter(isOldWorking).slice(0, dispensable),
  ]
  const begun = [
    ...wanted.filter(each => !isOldWorking(each)),
    ...wanted.filter(isOldWorking).slice(0, Math.max(0, world.max - surging)),
  ]
  return {
    create: begun.map(({ node }) => node.nodeName),
    delete: replaced.flatMap(({ oldPod }) => oldPod ?? []),
  }
}
