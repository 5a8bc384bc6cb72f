/**
 * Allocation of resources to pods that are resized. The kubelet runs a pod with the resources that are allocated to it:
 * a resize beyond the node's allocatable resources is Infeasible, and one beyond those that other pods leave is
 * Deferred until they leave enough. The allocation is not stored: after a restart it is read from the pod's status.
 * https://kubernetes.io/docs/tasks/configure-pod-container/resize-container-resources/
 */
import type { Container, Pod, PodStatus } from '#/api/generated/core/v1.ts'
import { podRequests } from '#/api/core/pod-resources.ts'
import { qosClassOf } from '#/api/core/qos-class.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { conditionOf } from '#/api/conditions.ts'
import { findShortage, type NodeResources } from './admit-pod.ts'
import { countedAmount, countedCapacity } from './resource-amount.ts'

export interface PendingResize {
  readonly reason: 'Deferred' | 'Infeasible'
  readonly message: string
}

export interface ResizeAllocationInput extends NodeResources {
  /** As the API has it. */
  readonly pod: Pod
  /** The same pod with the resources that are allocated to it. */
  readonly allocated: Pod
}

/** Undefined if the pod can have what it asks for. What lowers requests is always possible. */
export function planResize(input: ResizeAllocationInput): PendingResize | undefined {
  const { pod, allocated, allocatable } = input
  if (!isResized(pod, allocated)) return undefined
  const grows = resizable.filter(name => requestOf(pod, name) > requestOf(allocated, name))
  if (grows.length === 0) return undefined
  for (const name of grows) {
    const [requested, capacity] = [requestOf(pod, name), countedCapacity(allocatable, name)]
    if (requested <= capacity) continue
    const amounts = `${name}, requested: ${requested}, capacity: ${capacity}`
    return { reason: 'Infeasible', message: `Node didn't have enough capacity: ${amounts}` }
  }
  const shortage = findShortage(input)
  return shortage && { reason: 'Deferred', message: shortage.message }
}

const resizable = ['cpu', 'memory']

function requestOf({ spec }: Pod, name: string): number {
  return spec === undefined ? 0 : countedAmount(name, podRequests(spec).get(name))
}

function isResized(pod: Pod, allocated: Pod): boolean {
  const has = resourcesByName(allocated)
  return allContainers(pod).some(({ name, resources }) => !equalJson(has.get(name) ?? {}, resources ?? {}))
}

/** The pod with the resources that are allocated to its containers instead of its own. */
export function withAllocatedResources<T extends Pod>(pod: T, allocated: Pod): T {
  return withResources(pod, resourcesByName(allocated))
}

/** For a kubelet that starts: the pod with the resources that its containers have while a resize is pending. */
export function allocatedAtStart<T extends Pod>(pod: T): T | undefined {
  if (pendingResizeOf(pod.status) === undefined) return undefined
  const { containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {}
  const statuses = [...containerStatuses, ...initContainerStatuses]
  return withResources(pod, new Map(statuses.map(({ name, resources }) => [name, resources])))
}

export function pendingResizeOf(status: PodStatus | undefined): PendingResize | undefined {
  const { reason, message = '' } = conditionOf(status?.conditions, 'PodResizePending') ?? {}
  return reason === 'Deferred' || reason === 'Infeasible' ? { reason, message } : undefined
}

type ResourcesByName = ReadonlyMap<string, Container['resources']>

function withResources<T extends Pod>(pod: T, resources: ResourcesByName): T {
  const { spec } = pod
  if (spec === undefined) return pod
  const replace = (container: Container): Container => {
    const own = resources.get(container.name)
    return own === undefined ? container : { ...container, resources: own }
  }
  const { containers, initContainers } = spec
  return {
    ...pod,
    spec: {
      ...spec,
      containers: containers.map(replace),
      ...(initContainers && { initContainers: initContainers.map(replace) }),
    },
  }
}

function resourcesByName(pod: Pod): ResourcesByName {
  return new Map(allContainers(pod).map(({ name, resources }) => [name, resources ?? {}]))
}

function allContainers({ spec }: Pod): readonly Container[] {
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])]
}

export interface DeferredResize {
  readonly pod: Pod
  readonly sinceMs: number
}

/** The order in which deferred resizes are retried: by priority, QoS class, and how long they have been deferred. */
export function compareDeferredResizes(left: DeferredResize, right: DeferredResize): number {
  const priority = (right.pod.spec?.priority ?? 0) - (left.pod.spec?.priority ?? 0)
  const rank = ({ pod }: DeferredResize): number => qosClasses.indexOf(qosClassOf(pod))
  return priority || rank(left) - rank(right) || left.sinceMs - right.sinceMs
}

const qosClasses = ['Guaranteed', 'Burstable', 'BestEffort']
