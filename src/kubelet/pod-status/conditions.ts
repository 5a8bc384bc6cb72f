import { isTrue } from '#/api/conditions.ts'
import type { ContainerStatus, Pod, PodCondition, PodStatus } from '#/api/generated/core/v1.ts'
import { quote } from '#/api/text/quote.ts'
import { formatTime } from '#/api/text/time.ts'
import { isResizing } from '../container-resize.ts'
import { latestInSandbox, type ObservedPod } from '../observed-pod.ts'
import { isSidecar, restartsAllContainers } from '../pod-containers.ts'
import type { PendingResize } from '../resize-allocation.ts'

export interface ConditionsInput {
  readonly pod: Pod
  readonly previous: PodStatus
  /** The status without conditions. */
  readonly status: PodStatus
  readonly hasSandbox: boolean
  readonly observed: ObservedPod
  /** Message of the condition `DisruptionTarget`, if the node terminates the pod for reasons of its own. */
  readonly disruption?: string
  /** The node cannot allocate the resources of a resize. */
  readonly pendingResize?: PendingResize
  readonly nowMs: number
}

type ConditionState = Omit<PodCondition, 'type' | 'lastTransitionTime' | 'observedGeneration'>

export const kubeletConditions: ReadonlySet<string> = new Set([
  'PodReadyToStartContainers',
  'Initialized',
  'Ready',
  'ContainersReady',
  'PodScheduled',
  'AllContainersRestarting',
  'PodResizeInProgress',
  'PodResizePending',
])

export const terminationByKubelet = 'TerminationByKubelet'

/**
 * Conditions of other components come first, unchanged. `lastTransitionTime` changes only with the status.
 */
export function podConditions(input: ConditionsInput): readonly PodCondition[] {
  const { pod, previous, disruption, nowMs } = input
  const foreign = (pod.status?.conditions ?? []).filter(({ type }) => {
    return !kubeletConditions.has(type) && !(type === 'DisruptionTarget' && disruption !== undefined)
  })
  const containersReady = containersReadyCondition(input)
  const states: readonly (readonly [string, ConditionState])[] = [
    ['PodReadyToStartContainers', { status: input.hasSandbox ? 'True' : 'False' }],
    ['Initialized', initializedCondition(input)],
    ['Ready', readyCondition(pod, containersReady, foreign)],
    ['ContainersReady', containersReady],
    ['PodScheduled', { status: 'True' }],
    ...restartingConditions(input),
    ...resizingConditions(input),
    ...disruptionConditions(disruption),
  ]
  const { generation } = pod.metadata
  const own = states.map(([type, condition]): PodCondition => {
    const last = previous.conditions?.find(each => each.type === type)
    const since = last?.status === condition.status ? last.lastTransitionTime : undefined
    return {
      type,
      ...(generation !== undefined && { observedGeneration: generation }),
      ...condition,
      lastTransitionTime: since ?? formatTime(nowMs),
    }
  })
  return [...foreign, ...own]
}

function containersReadyCondition({ pod, status }: ConditionsInput): ConditionState {
  if (status.phase === 'Succeeded') return { status: 'False', reason: 'PodCompleted' }
  if (status.phase === 'Failed') return { status: 'False', reason: 'PodFailed' }
  const { initContainerStatuses = [], containerStatuses = [] } = status
  const sidecars = new Set((pod.spec?.initContainers ?? []).filter(isSidecar).map(({ name }) => name))
  const ready = new Set(
    [...initContainerStatuses, ...containerStatuses].filter(each => each.ready).map(({ name }) => name),
  )
  const names = [...sidecars, ...(pod.spec?.containers ?? []).map(({ name }) => name)]
  const unready = names.filter(name => !ready.has(name))
  if (unready.length === 0) return { status: 'True' }
  const message = `containers with unready status: [${unready.join(' ')}]`
  return { status: 'False', reason: 'ContainersNotReady', message }
}

function readyCondition(
  pod: Pod,
  containersReady: ConditionState,
  foreign: readonly PodCondition[],
): ConditionState {
  if (containersReady.status !== 'True') return containersReady
  const closed = (pod.spec?.readinessGates ?? []).flatMap(({ conditionType }) => {
    const gate = foreign.find(({ type }) => type === conditionType)
    if (gate?.status === 'True') return []
    const name = `pod readiness gate ${quote(conditionType)}`
    return gate === undefined
      ? [`corresponding condition of ${name} does not exist.`]
      : [`the status of ${name} is not "True", but ${gate.status}`]
  })
  if (closed.length === 0) return { status: 'True' }
  return { status: 'False', reason: 'ReadinessGatesNotReady', message: closed.join(', ') }
}

function initializedCondition({ pod, previous, status }: ConditionsInput): ConditionState {
  if (status.phase === 'Succeeded') return { status: 'True', reason: 'PodCompleted' }
  const { initContainerStatuses = [], containerStatuses = [] } = status
  if (containerStatuses.some(({ state }) => state?.running || state?.terminated)) return { status: 'True' }
  const incomplete = (pod.spec?.initContainers ?? []).filter(container => {
    const own = initContainerStatuses.find(({ name }) => name === container.name)
    return !isInitialized(own, isSidecar(container))
  })
  const wasTrue = isTrue(previous.conditions, 'Initialized')
  if (incomplete.length === 0 || (wasTrue && incomplete.length > 0)) return { status: 'True' }
  const message = `containers with incomplete status: [${incomplete.map(({ name }) => name).join(' ')}]`
  return { status: 'False', reason: 'ContainersNotInitialized', message }
}

function isInitialized(status: ContainerStatus | undefined, isSidecar: boolean): boolean {
  return (isSidecar ? status?.started : status?.ready) === true
}

/** Only for pods with a RestartAllContainers rule. */
function restartingConditions({
  pod,
  observed,
  status,
}: ConditionsInput): readonly (readonly [string, ConditionState])[] {
  const { initContainers = [], containers = [] } = pod.spec ?? {}
  const all = [...initContainers, ...containers]
  const isPossible = all.some(({ restartPolicyRules = [] }) => {
    return restartPolicyRules.some(({ action }) => action === 'RestartAllContainers')
  })
  if (!isPossible) return []
  const type = 'AllContainersRestarting'
  if (status.phase === 'Succeeded') return [[type, { status: 'False', reason: 'PodCompleted' }]]
  if (status.phase === 'Failed') return [[type, { status: 'False', reason: 'PodFailed' }]]
  const isUnderWay = all.some(container => {
    const latest = latestInSandbox(observed, container.name)
    return latest?.state === 'exited' && restartsAllContainers(container, latest.exitCode)
  })
  if (!isUnderWay) return [[type, { status: 'False' }]]
  const message = 'container exited with restart policy rule'
  return [[type, { status: 'True', reason: 'RestartAllContainersStarted', message }]]
}

function disruptionConditions(message: string | undefined): readonly (readonly [string, ConditionState])[] {
  if (message === undefined) return []
  return [['DisruptionTarget', { status: 'True', reason: terminationByKubelet, message }]]
}

/** Only while a resize is pending or in progress. */
function resizingConditions(input: ConditionsInput): readonly (readonly [string, ConditionState])[] {
  const { pendingResize } = input
  const pending = { status: 'True', ...pendingResize }
  return [
    ...(pendingResize === undefined ? [] : [['PodResizePending', pending] as const]),
    ...(isResizing(input) ? [['PodResizeInProgress', { status: 'True' }] as const] : []),
  ]
}
