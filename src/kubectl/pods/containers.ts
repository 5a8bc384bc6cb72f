import type { Container, ContainerStatus, EphemeralContainer, Pod } from '#/api/generated/core/v1.ts'
import { quote } from '#/api/text/quote.ts'

/** A container of any type. */
export type AnyContainer = Container | EphemeralContainer

type ContainerList = 'containers' | 'initContainers' | 'ephemeralContainers'

export interface FoundContainer {
  readonly container: AnyContainer
  readonly list: ContainerList
}

/** Preselects a container of a pod. */
export const defaultContainerAnnotation = 'kubectl.kubernetes.io/default-container'

export function findContainer({ spec }: Pod, name: string): FoundContainer | undefined {
  for (const list of ['containers', 'initContainers', 'ephemeralContainers'] as const) {
    const container = spec?.[list]?.find(each => each.name === name)
    if (container !== undefined) return { container, list }
  }
  return undefined
}

/** `app, shell (ephem), setup (init)`. */
function containerNames({ spec }: Pod): string {
  return [
    ...(spec?.containers ?? []).map(({ name }) => name),
    ...(spec?.ephemeralContainers ?? []).map(({ name }) => `${name} (ephem)`),
    ...(spec?.initContainers ?? []).map(({ name }) => `${name} (init)`),
  ].join(', ')
}

/** Throws Error if the pod has no such container. */
export function requireContainer(pod: Pod, name: string): FoundContainer {
  const found = findContainer(pod, name)
  if (found !== undefined) return found
  throw new Error(
    `container ${name} is not valid for pod ${pod.metadata.name} out of: ${containerNames(pod)}`,
  )
}

/**
 * The container with this name, or else that of the annotation, or else the first one. `warn` is called if the first
 * one was chosen of several.
 */
export function chooseContainer(
  pod: Pod,
  { name, warn }: { readonly name: string | undefined; readonly warn: (text: string) => void },
): FoundContainer {
  const [first] = pod.spec?.containers ?? []
  if (first === undefined) {
    throw new Error(`pod ${pod.metadata.namespace}/${pod.metadata.name} does not have any containers`)
  }
  const chosen = name || pod.metadata.annotations?.[defaultContainerAnnotation]
  if (chosen) return requireContainer(pod, chosen)
  const text = defaultedContainer(pod)
  if (text !== undefined) warn(text)
  return { container: first, list: 'containers' }
}

/** What is printed when the first container was chosen; undefined if it is the only one. */
export function defaultedContainer(pod: Pod): string | undefined {
  const { containers = [], initContainers = [], ephemeralContainers = [] } = pod.spec ?? {}
  const count = containers.length + initContainers.length + ephemeralContainers.length
  return count > 1
    ? `Defaulted container ${quote(containers[0]?.name ?? '')} out of: ${containerNames(pod)}`
    : undefined
}

export function containerStatusOf({ status }: Pod, name: string): ContainerStatus | undefined {
  const { initContainerStatuses = [], containerStatuses = [], ephemeralContainerStatuses = [] } = status ?? {}
  const statuses = [...initContainerStatuses, ...containerStatuses, ...ephemeralContainerStatuses]
  return statuses.find(each => each.name === name)
}
