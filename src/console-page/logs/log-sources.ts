import type { Pod } from '#/api/generated/core/v1.ts'

/** A container whose log is read. */
export interface LogSource {
  /** Changes when the container starts again: its log continues in another stream. */
  readonly key: string
  /** `web-0/nginx`. */
  readonly name: string
  readonly namespace: string
  readonly pod: string
  readonly container: string
}

export interface LogChoice {
  /** Empty for all. */
  readonly pod: string
  /** Empty for all but init containers. */
  readonly container: string
  /** The log of the previous instance of each container. */
  readonly isPrevious: boolean
}

/** Streams that are open at the same time. */
export const sourcesMax = 40

/** The containers that have written or may write a log: those that have started. */
export function logSources(pods: readonly Pod[], { pod, container, isPrevious }: LogChoice): LogSource[] {
  return pods.flatMap(({ metadata, status }) => {
    const { name = '', namespace = '', uid = '' } = metadata ?? {}
    if (pod !== '' && pod !== name) return []
    const {
      containerStatuses = [],
      initContainerStatuses = [],
      ephemeralContainerStatuses = [],
    } = status ?? {}
    const all = [...initContainerStatuses, ...containerStatuses, ...ephemeralContainerStatuses]
    const chosen = container === '' ? containerStatuses : all.filter(each => each.name === container)
    return chosen
      .filter(({ state, restartCount }) =>
        isPrevious ? restartCount > 0 : (state?.running ?? state?.terminated),
      )
      .map(each => ({
        key: `${uid}/${each.name}/${each.restartCount}${isPrevious ? '/previous' : ''}`,
        name: `${name}/${each.name}`,
        namespace,
        pod: name,
        container: each.name,
      }))
  })
}

/** Names of all containers, in the order of their pods. */
export function containerNames(pods: readonly Pod[]): string[] {
  const names = pods.flatMap(({ spec }) => {
    const { initContainers = [], containers = [], ephemeralContainers = [] } = spec ?? {}
    return [...containers, ...initContainers, ...ephemeralContainers].map(({ name }) => name)
  })
  return [...new Set(names)]
}
