import type { Container, ContainerStatus, Pod, PodStatus } from '#/api/generated/core/v1.ts'
import { latestInSandbox } from '../observed-pod.ts'
import { isSidecar, shouldRestart } from '../pod-containers.ts'
import type { StatusInput } from '../pod-status.ts'
import type { ContainerStatuses } from './container-statuses.ts'

/** A terminal phase is final and reached only when no container is running anymore. */
export function phaseOf(input: StatusInput, statuses: ContainerStatuses): string {
  const { pod, previous, stage, failure } = input
  const terminal = [pod.status?.phase, previous.phase].find(isOver)
  if (terminal !== undefined) return terminal
  if (stage === 'terminated')
    return failure === undefined && hasSucceeded(pod, statuses) ? 'Succeeded' : 'Failed'
  const isRunning = statuses.containerStatuses?.some(({ state }) => state?.running)
  if (stage === 'terminating' && !isRunning) return previous.phase ?? 'Pending'
  return isPending(input, statuses) ? 'Pending' : 'Running'
}

function isOver(phase: string | undefined): boolean {
  return phase === 'Succeeded' || phase === 'Failed'
}

function hasSucceeded(
  { spec }: Pod,
  { initContainerStatuses = [], containerStatuses = [] }: ContainerStatuses,
): boolean {
  const isInitDone = (spec?.initContainers ?? []).every(container => {
    const { terminated } = initContainerStatuses.find(({ name }) => name === container.name)?.state ?? {}
    return isSidecar(container) || terminated?.exitCode === 0
  })
  return isInitDone && containerStatuses.every(({ state }) => state?.terminated?.exitCode === 0)
}

/** True if a container has not run yet or init containers are not complete. */
function isPending(input: StatusInput, statuses: PodStatus): boolean {
  const { pod, observed } = input
  const { initContainers = [], containers = [] } = pod.spec ?? {}
  const { initContainerStatuses = [], containerStatuses = [] } = statuses
  const hasBegun = containers.some(({ name }) => latestInSandbox(observed, name) !== undefined)
  const isWaiting = initContainers.some(container => {
    const status = initContainerStatuses.find(({ name }) => name === container.name)
    return isSidecar(container) ? isSidecarPending(status, hasBegun) : isInitPending(pod, container, status)
  })
  return isWaiting || containerStatuses.some(isWaitingFirst)
}

function isWaitingFirst({ state, lastState }: ContainerStatus): boolean {
  return (
    state?.running === undefined && state?.terminated === undefined && lastState?.terminated === undefined
  )
}

/** Once the main containers have started, a restarting sidecar does not make the pod Pending again. */
function isSidecarPending(status: ContainerStatus | undefined, hasBegun: boolean): boolean {
  if (status === undefined) return true
  if (isWaitingFirst(status)) return true
  return status.state?.running !== undefined && status.started !== true && !hasBegun
}

function isInitPending(pod: Pod, container: Container, status: ContainerStatus | undefined): boolean {
  if (status === undefined || status.state?.running || isWaitingFirst(status)) return true
  const { exitCode } = status.state?.terminated ?? status.lastState?.terminated ?? { exitCode: 0 }
  return exitCode !== 0 && shouldRestart(pod, container, exitCode)
}
