import type { Pod } from '#/api/generated/core/v1.ts'
import { quote } from '#/api/text/quote.ts'
import {
  defaultContainerAnnotation,
  defaultedContainer,
  findContainer,
  requireContainer,
} from '../pods/containers.ts'

/** A container whose log is printed. */
export interface LogSource {
  readonly pod: Pod
  readonly container: string
}

export interface LogSourceOptions {
  /** Empty for the default container. */
  readonly container: string
  readonly allContainers: boolean
  /** Prints to stderr. */
  readonly warn: (text: string) => void
  /** Does not say which container was chosen. */
  readonly quiet: boolean
}

/** Throws Error if a pod has no such container. */
export function logSources(pods: readonly Pod[], options: LogSourceOptions): readonly LogSource[] {
  return pods.flatMap(pod => {
    if (!options.allContainers) return [{ pod, container: chosenContainer(pod, options) }]
    const { initContainers = [], containers = [], ephemeralContainers = [] } = pod.spec ?? {}
    return [...initContainers, ...containers, ...ephemeralContainers].map(({ name }) => ({
      pod,
      container: name,
    }))
  })
}

function chosenContainer(pod: Pod, { container, warn, quiet }: LogSourceOptions): string {
  if (container !== '') return requireContainer(pod, container).container.name
  const annotated = pod.metadata.annotations?.[defaultContainerAnnotation]
  if (annotated) {
    if (findContainer(pod, annotated) !== undefined) return annotated
    warn(`Default container name ${quote(annotated)} not found in pod ${pod.metadata.name}`)
  }
  const text = quiet ? undefined : defaultedContainer(pod)
  if (text !== undefined) warn(text)
  return pod.spec?.containers[0]?.name ?? ''
}
