import type { ContainerStatus } from '#/api/generated/core/v1.ts'
import type { KubeletPod } from '../kubelet-pod.ts'

/** Runtime id of the container to read, or Kubernetes' message why there is none. */
export type ChosenLog = { readonly containerId: string } | { readonly problem: string }

const reasons: Readonly<Record<string, string>> = {
  ErrImagePull: "image can't be pulled",
  ImagePullBackOff: 'trying and failing to pull image',
}

export function chooseLog({ metadata, status }: KubeletPod, container: string, previous: boolean): ChosenLog {
  const { containerStatuses = [], initContainerStatuses = [], ephemeralContainerStatuses = [] } = status ?? {}
  const all = [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses]
  const found = all.find(({ name }) => name === container)
  const where = `${JSON.stringify(container)} in pod ${JSON.stringify(metadata.name)}`
  if (found === undefined) return { problem: `container ${where} is not available` }
  const last = idOf(found.lastState?.terminated?.containerID)
  if (previous) {
    return last === ''
      ? { problem: `previous terminated container ${where} not found` }
      : { containerId: last }
  }
  return chooseCurrent(found, where)
}

function chooseCurrent({ state, lastState, containerID }: ContainerStatus, where: string): ChosenLog {
  const last = idOf(lastState?.terminated?.containerID)
  const { waiting, running, terminated } = state ?? {}
  if (running) return { containerId: idOf(containerID) }
  if (terminated || lastState?.terminated) {
    // A container that failed to start has no id: the log of its predecessor is used.
    const containerId = idOf(terminated?.containerID) || last
    return containerId === '' ? { problem: `container ${where} is terminated` } : { containerId }
  }
  if (waiting) {
    const { reason = '' } = waiting
    return { problem: `container ${where} is waiting to start: ${reasons[reason] ?? reason}` }
  }
  return { problem: `container ${where} is waiting to start - no logs yet` }
}

/** Strips the runtime name from `containerd://ID`. */
function idOf(containerId: string | undefined): string {
  return containerId?.replace(/^[^:]*:\/\//, '') ?? ''
}
