/**
 * Whether a container that runs has what its spec asks for by now. What may change while it runs are its requests and
 * limits of processors and memory; some containers have to be started again for it, which they say themselves.
 * https://kubernetes.io/docs/tasks/configure-pod-container/resize-container-resources/
 */
import type { Container, Pod, PodStatus, ResourceRequirements } from '#/api/generated/core/v1.ts'
import { equalJson } from '#/api/json-value.ts'
import type { ObservedContainer, ObservedPod } from './observed-pod.ts'
import { isSidecar } from './pod-containers.ts'

/** What containers were given by this kubelet since it runs, by their ids. */
export type GivenResources = ReadonlyMap<string, ResourceRequirements>

export interface Resized {
  readonly pod: Pod
  /** What was said last: there it stands what those have that another kubelet has started. */
  readonly status: PodStatus
  readonly observed: ObservedPod
  readonly given: GivenResources
}

/** Undefined when nothing is to be done. */
export function resizeOf(
  { status, given }: Pick<Resized, 'status' | 'given'>,
  container: Container,
  { id }: ObservedContainer,
): 'in-place' | 'restart' | undefined {
  const has = given.get(id) ?? saidResources(status, id)
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

/** Those that are to be changed as they run. */
export function resizedContainers(resized: Resized): readonly (readonly [Container, ObservedContainer])[] {
  const { initContainers = [], containers = [] } = resized.pod.spec ?? {}
  return [...initContainers.filter(isSidecar), ...containers].flatMap(container => {
    const latest = resized.observed.containers.find(({ name }) => name === container.name)
    if (latest?.state !== 'running') return []
    return resizeOf(resized, container, latest) === 'in-place' ? [[container, latest] as const] : []
  })
}

/** Of a container, as a status has it. */
export function saidResources(status: PodStatus, id: string): ResourceRequirements | undefined {
  const { initContainerStatuses = [], containerStatuses = [] } = status
  return [...initContainerStatuses, ...containerStatuses].find(each => each.containerID?.endsWith(`//${id}`))
    ?.resources
}

/** Whether containers of a pod wait for what its spec has promised them. */
export function isResizing({ pod, status }: Pick<Resized, 'pod' | 'status'>): boolean {
  const { containerStatuses = [], initContainerStatuses = [] } = status
  const { containers = [], initContainers = [] } = pod.spec ?? {}
  return [...initContainers.filter(isSidecar), ...containers].some(({ name, resources = {} }) => {
    const own = [...initContainerStatuses, ...containerStatuses].find(each => each.name === name)
    return own?.state?.running !== undefined && !equalJson(own.resources ?? {}, resources)
  })
}

const resizable = ['cpu', 'memory']
