/**
 * A node with its pods as one immutable value. Sums are updated when a pod is added or removed, not computed
 * for each scheduled pod.
 */
import type { Node } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { addResources, resourcesOf, noResources, type ResourceAmounts } from './resource-amounts.ts'
import type { PodInfo } from './pod-info.ts'

export interface NodeInfo {
  readonly name: string
  readonly node: Stored<Node>
  readonly labels: Readonly<Record<string, string>>
  readonly pods: readonly PodInfo[]
  /** The pods with inter-pod affinity or anti-affinity. */
  readonly podsWithAffinity: readonly PodInfo[]
  readonly podsWithRequiredAntiAffinity: readonly PodInfo[]
  readonly podsWithPorts: readonly PodInfo[]
  readonly allocatable: ResourceAmounts & { readonly pods: number }
  /** Sum of the requests, and of the non-zero requests used for scoring. */
  readonly requested: ResourceAmounts
  readonly nonZeroRequested: ResourceAmounts
}

export function nodeInfoOf(node: Stored<Node>, pods: readonly PodInfo[]): NodeInfo {
  return {
    name: node.metadata.name,
    node,
    labels: node.metadata.labels ?? {},
    pods,
    podsWithAffinity: pods.filter(hasAffinity),
    podsWithRequiredAntiAffinity: pods.filter(pod => pod.requiredAntiAffinity.length > 0),
    podsWithPorts: pods.filter(pod => pod.hostPorts.length > 0),
    allocatable: allocatableOf(node),
    requested: pods.reduce((sum, pod) => addResources(sum, pod.requests, 1), noResources),
    nonZeroRequested: pods.reduce((sum, pod) => addResources(sum, pod.nonZeroRequests, 1), noResources),
  }
}

export function withNode(info: NodeInfo, node: Stored<Node>): NodeInfo {
  return { ...info, node, labels: node.metadata.labels ?? {}, allocatable: allocatableOf(node) }
}

export function withPod(info: NodeInfo, pod: PodInfo): NodeInfo {
  const added = (pods: readonly PodInfo[], isOne: boolean): readonly PodInfo[] =>
    isOne ? [...pods, pod] : pods
  return {
    ...info,
    pods: [...info.pods, pod],
    podsWithAffinity: added(info.podsWithAffinity, hasAffinity(pod)),
    podsWithRequiredAntiAffinity: added(
      info.podsWithRequiredAntiAffinity,
      pod.requiredAntiAffinity.length > 0,
    ),
    podsWithPorts: added(info.podsWithPorts, pod.hostPorts.length > 0),
    requested: addResources(info.requested, pod.requests, 1),
    nonZeroRequested: addResources(info.nonZeroRequested, pod.nonZeroRequests, 1),
  }
}

/** Returns the same object if the pod is not on the node. */
export function withoutPod(info: NodeInfo, uid: string): NodeInfo {
  const pod = info.pods.find(each => each.uid === uid)
  if (pod === undefined) return info
  const left = (pods: readonly PodInfo[], isOne: boolean): readonly PodInfo[] => {
    return isOne ? pods.filter(each => each !== pod) : pods
  }
  return {
    ...info,
    pods: left(info.pods, true),
    podsWithAffinity: left(info.podsWithAffinity, hasAffinity(pod)),
    podsWithRequiredAntiAffinity: left(
      info.podsWithRequiredAntiAffinity,
      pod.requiredAntiAffinity.length > 0,
    ),
    podsWithPorts: left(info.podsWithPorts, pod.hostPorts.length > 0),
    requested: addResources(info.requested, pod.requests, -1),
    nonZeroRequested: addResources(info.nonZeroRequested, pod.nonZeroRequests, -1),
  }
}

function hasAffinity(pod: PodInfo): boolean {
  return (
    pod.requiredAffinity.length > 0 ||
    pod.requiredAntiAffinity.length > 0 ||
    pod.preferredAffinity.length > 0 ||
    pod.preferredAntiAffinity.length > 0
  )
}

/** Cache per version of the allocatable list. */
const allocatables = new WeakMap<object, ResourceAmounts & { readonly pods: number }>()

function allocatableOf({ status }: Node): ResourceAmounts & { readonly pods: number } {
  const table = status?.allocatable
  if (table === undefined) return { ...noResources, pods: 0 }
  const known = allocatables.get(table)
  if (known !== undefined) return known
  const amounts = resourcesOf(table)
  allocatables.set(table, amounts)
  return amounts
}
