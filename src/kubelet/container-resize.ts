/**
 * In-place pod resize: compares the resources of a running container with its spec. Only requests and limits
 * of CPU and memory can change; the container's resizePolicy decides whether it is restarted.
 * https://kubernetes.io/docs/tasks/configure-pod-container/resize-container-resources/
 */
import type { Container, Pod, PodStatus, ResourceRequirements } from '#/api/generated/core/v1.ts'
import { equalJson } from '#/api/text/json-value.ts'
import type { ObservedContainer, ObservedPod } from './observed-pod.ts'
import { isSidecar } from './pod-containers.ts'

/** Resources applied by this kubelet process, by container id. */
export type ActuatedResources = ReadonlyMap<string, ResourceRequirements>

export interface ResizeInput {
  readonly pod: Pod
  /** Last reported status: the resources of containers started by an earlier kubelet process. */
  readonly status: PodStatus
  readonly observed: ObservedPod
  readonly actuatedResources: ActuatedResources
}

/** Undefined if no resize is needed. */
export function resizeActionOf(
  { status, actuatedResources }: Pick<ResizeInput, 'status' | 'actuatedResources'>,
  container: Container,
  { id }: ObservedContainer,
): 'in-place' | 'restart' | undefined {
  const has = actuatedResources.get(id) ?? reportedResources(status, id)
  const wants = container.resources ?? {}
  if (has === undefined) return undefined
  const changed = resizable.filter(name => {
    return (['requests', 'limits'] as const).some(list => has[list]?.[name] !== wants[list]?.[name])
  })
  if (changed.length === 0) return undefined
  const { resizePolicy = [] } = container
  const mustRestart = resizePolicy.some(({ resourceName, restartPolicy }) => {
    return restartPolicy === 'RestartContainer' && changed.includes(resourceName)
  })
  return mustRestart ? 'restart' : 'in-place'
}

/** Running containers to be resized in place. */
export function resizedContainers(
  resized: ResizeInput,
): readonly (readonly [Container, ObservedContainer])[] {
  const { initContainers = [], containers = [] } = resized.pod.spec ?? {}
  return [...initContainers.filter(isSidecar), ...containers].flatMap(container => {
    const latest = resized.observed.containers.find(({ name }) => name === container.name)
    if (latest?.state !== 'running') return []
    return resizeActionOf(resized, container, latest) === 'in-place' ? [[container, latest] as const] : []
  })
}

/** Resources of a container as reported in the pod status. */
export function reportedResources(status: PodStatus, id: string): ResourceRequirements | undefined {
  const { initContainerStatuses = [], containerStatuses = [] } = status
  return [...initContainerStatuses, ...containerStatuses].find(each => each.containerID?.endsWith(`//${id}`))
    ?.resources
}

/** True if a running container's reported resources differ from the spec. */
export function isResizing({ pod, status }: Pick<ResizeInput, 'pod' | 'status'>): boolean {
  const { containerStatuses = [], initContainerStatuses = [] } = status
  const { containers = [], initContainers = [] } = pod.spec ?? {}
  return [...initContainers.filter(isSidecar), ...containers].some(({ name, resources = {} }) => {
    const own = [...initContainerStatuses, ...containerStatuses].find(each => each.name === name)
    return own?.state?.running !== undefined && !equalJson(own.resources ?? {}, resources)
  })
}

const resizable = ['cpu', 'memory']
