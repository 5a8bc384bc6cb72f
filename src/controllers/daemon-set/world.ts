import { scaledValueRoundedUp } from '#/api/text/int-or-string.ts'
import type { DaemonSet } from '#/api/generated/apps/v1.ts'
import type { Node, Pod } from '#/api/generated/core/v1.ts'
import { isBeingDeleted, type Stored } from '#/api/metadata.ts'
import { isPodAvailable, isPodTerminal } from '../pods.ts'
import { targetNode } from './daemon-pod.ts'
import { nodeShouldRunDaemonPod, type Eligibility } from './eligibility.ts'

export interface DaemonWorld {
  readonly set: DaemonSet
  /** Hash of the current revision. */
  readonly hash: string
  readonly daemonNodes: readonly DaemonNode[]
  readonly nowMs: number
}

/** A node with the pods bound to it or intended for it. */
export interface DaemonNode extends Eligibility {
  readonly nodeName: string
  /** False if the node was deleted but pods still name it. */
  readonly exists: boolean
  /** Ranked, without finished pods that are being deleted. */
  readonly pods: readonly Stored<Pod>[]
}

export function daemonNodesOf(
  set: DaemonSet,
  nodes: readonly Stored<Node>[],
  pods: readonly Stored<Pod>[],
): readonly DaemonNode[] {
  const byNode = new Map<string, Stored<Pod>[]>()
  for (const pod of pods) {
    const nodeName = targetNode(pod)
    if (nodeName === undefined || (isPodTerminal(pod) && isBeingDeleted(pod))) continue
    byNode.getOrInsertComputed(nodeName, () => []).push(pod)
  }
  const eligibilityOf = nodeShouldRunDaemonPod(set)
  const daemonNodes = nodes.map((node): DaemonNode => {
    const nodeName = node.metadata.name
    const there = byNode.get(nodeName) ?? []
    byNode.delete(nodeName)
    return { nodeName, exists: true, ...eligibilityOf(node), pods: ranked(there) }
  })
  const gone = [...byNode].map(([nodeName, left]): DaemonNode => {
    return { nodeName, exists: false, shouldRun: false, shouldContinueRunning: false, pods: ranked(left) }
  })
  return [...daemonNodes, ...gone]
}

/** Bound pods first, then by age, oldest first. */
function ranked(pods: readonly Stored<Pod>[]): readonly Stored<Pod>[] {
  if (pods.length < 2) return pods
  const rank = ({ metadata, spec }: Pod): string => {
    return `${spec?.nodeName ? 0 : 1} ${metadata.creationTimestamp} ${metadata.name}`
  }
  return pods.toSorted((left, right) => (rank(left) < rank(right) ? -1 : 1))
}

export function isAvailable(pod: Pod, { set, nowMs }: Pick<DaemonWorld, 'set' | 'nowMs'>): boolean {
  return isPodAvailable(pod, set.spec?.minReadySeconds ?? 0, nowMs)
}

/** Number of new pods that may run beside old ones during an update; zero if old pods are deleted first. */
export function surgeOf(set: DaemonSet, nodeCount: number): number {
  const { type, rollingUpdate } = set.spec?.updateStrategy ?? {}
  if (type !== 'RollingUpdate') return 0
  return scaledValueRoundedUp(rollingUpdate?.maxSurge ?? 0, nodeCount) ?? 0
}
