import type { ContainerStatus } from '#/api/generated/core/v1.ts'
import type { StatusInput } from '../pod-status.ts'
import { unknownExitCode, type ContainerStatuses } from './container-statuses.ts'

/**
 * Statuses after the pod has terminated: a started container without an observed exit counts as failed.
 * Containers that never started are unchanged.
 */
export function terminatedStatuses(
  { pod, previous }: StatusInput,
  statuses: ContainerStatuses,
): ContainerStatuses {
  const { initContainerStatuses = [], containerStatuses = [] } = statuses
  const isInitialized =
    (pod.spec?.initContainers ?? []).length === 0 || containerStatuses.some(hasBegun) || isLastDone(statuses)
  const reached = Math.max(initContainerStatuses.findLastIndex(hasBegun), 0)
  const wasSeen = previous.containerStatuses !== undefined || containerStatuses.some(hasBegun)
  if (!wasSeen) return statuses
  return {
    ...statuses,
    containerStatuses: isInitialized ? containerStatuses.map(terminatedStatus) : containerStatuses,
    ...(initContainerStatuses.length > 0 && {
      initContainerStatuses: initContainerStatuses.map((status, index) =>
        index <= reached ? terminatedStatus(status) : status,
      ),
    }),
  }
}

function hasBegun({ state, lastState }: ContainerStatus): boolean {
  return lastState?.terminated !== undefined || state?.waiting === undefined
}

function isLastDone({ initContainerStatuses = [] }: ContainerStatuses): boolean {
  const { state } = initContainerStatuses.at(-1) ?? {}
  return state?.running !== undefined || state?.terminated?.exitCode === 0
}

function terminatedStatus(status: ContainerStatus): ContainerStatus {
  if (status.state?.terminated) return status
  const terminated = {
    exitCode: unknownExitCode,
    reason: 'ContainerStatusUnknown',
    message: 'The container could not be located when the pod was terminated',
  }
  return { ...status, ready: false, started: false, state: { terminated } }
}
