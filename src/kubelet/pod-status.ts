/**
 * Computes the pod status: phase, conditions, pod IPs and container statuses. It is pure: the input is the
 * spec, the observed state and the previous status, which preserves what the runtime no longer reports.
 */
import type { Pod, PodCondition, PodStatus, ResourceRequirements } from '#/api/generated/core/v1.ts'
import { aggregatePodResources, podRequests } from '#/api/core/pod-resources.ts'
import { formatQuantity, type Quantity } from '#/api/text/quantity.ts'
import { formatTime } from '#/api/text/time.ts'
import type { ActuatedResources } from './container-resize.ts'
import { usableSandbox, type ObservedPod } from './observed-pod.ts'
import type { ProbeResults, Waiting } from './plan-pod.ts'
import { kubeletConditions, podConditions, terminationByKubelet } from './pod-status/conditions.ts'
import { containerStatuses } from './pod-status/container-statuses.ts'
import { phaseOf } from './pod-status/phase.ts'
import { terminatedStatuses } from './pod-status/terminated-statuses.ts'
import type { PendingResize } from './resize-allocation.ts'
import { sortAddresses } from './sort-addresses.ts'

export interface StatusInput {
  readonly pod: Pod
  /** Last reported status. */
  readonly previous: PodStatus
  readonly observed: ObservedPod
  /** Containers that failed to start or are in backoff. */
  readonly waiting: ReadonlyMap<string, Waiting>
  readonly starting: ReadonlySet<string>
  readonly actuatedResources: ActuatedResources
  readonly probes: (containerId: string) => ProbeResults
  readonly stage: 'running' | 'terminating' | 'terminated'
  /** Failure that is not due to the containers. */
  readonly failure?: PodFailure
  readonly pendingResize?: PendingResize
  readonly areVolumesReady: boolean
  readonly qosClass: string
  readonly nodeAddresses: readonly string[]
  /** Such as `containerd`. */
  readonly runtimeName: string
  readonly nowMs: number
}

export interface PodFailure {
  readonly reason: string
  readonly message: string
  /** The node terminates the pod for reasons of its own: condition `DisruptionTarget`. */
  readonly isDisruption?: boolean
}

export function podStatus(input: StatusInput): PodStatus {
  const { pod, previous, stage, nowMs } = input
  const ofContainers =
    stage === 'terminated' ? terminatedStatuses(input, containerStatuses(input)) : containerStatuses(input)
  const phase = phaseOf(input, ofContainers)
  const status: PodStatus = {
    ...foreignFields(previous),
    ...generationOf(pod),
    phase,
    ...reasonOf(input, phase),
    startTime: previous.startTime ?? formatTime(nowMs),
    qosClass: input.qosClass,
    ...addressesOf(input),
    ...resourcesOf(pod),
    ...ofContainers,
  }
  const conditions = podConditions({
    pod,
    previous,
    status,
    hasSandbox: canStartContainers(input),
    observed: input.observed,
    ...(input.failure?.isDisruption && { disruption: input.failure.message }),
    ...(input.pendingResize && { pendingResize: input.pendingResize }),
    nowMs,
  })
  return { ...status, conditions }
}

/** If a container exists in the sandbox, the volumes were ready. */
function canStartContainers({ pod, observed, areVolumesReady }: StatusInput): boolean {
  const sandbox = usableSandbox(pod, observed)
  if (sandbox === undefined) return false
  return areVolumesReady || observed.containers.some(({ sandboxId }) => sandboxId === sandbox.id)
}

/** Status of a pod rejected at admission. */
export function rejectedStatus(pod: Pod, { reason, message }: PodFailure, nowMs: number): PodStatus {
  const previous = pod.status ?? {}
  return {
    ...previous,
    ...generationOf(pod),
    phase: 'Failed',
    reason,
    message: `Pod was rejected: ${message}`,
    startTime: previous.startTime ?? formatTime(nowMs),
  }
}

export function isTerminal(phase: string | undefined): boolean {
  return phase === 'Succeeded' || phase === 'Failed'
}

/** True if the kubelet writes the condition. Other components can set `DisruptionTarget`, too. */
export function isKubeletCondition({ type, reason }: PodCondition): boolean {
  return kubeletConditions.has(type) || (type === 'DisruptionTarget' && reason === terminationByKubelet)
}

/** Fields written by other components. */
function foreignFields(previous: PodStatus): PodStatus {
  const {
    resourceClaimStatuses,
    extendedResourceClaimStatus,
    nodeAllocatableResourceClaimStatuses,
    nominatedNodeName,
    resize,
  } = previous
  return {
    ...(resourceClaimStatuses && { resourceClaimStatuses }),
    ...(extendedResourceClaimStatus && { extendedResourceClaimStatus }),
    ...(nodeAllocatableResourceClaimStatuses && { nodeAllocatableResourceClaimStatuses }),
    ...(nominatedNodeName && { nominatedNodeName }),
    ...(resize && { resize }),
  }
}

function generationOf({ metadata }: Pod): PodStatus {
  return metadata.generation === undefined ? {} : { observedGeneration: metadata.generation }
}

/** Reason and message are kept only while the phase is unchanged. */
function reasonOf({ previous, failure }: StatusInput, phase: string): PodStatus {
  if (failure !== undefined && isTerminal(phase)) return { reason: failure.reason, message: failure.message }
  if (phase !== previous.phase) return {}
  const { reason, message } = previous
  return { ...(reason && { reason }), ...(message && { message }) }
}

/** A terminating pod keeps its IPs after the sandbox is gone. */
function addressesOf({ pod, previous, observed, nodeAddresses, stage }: StatusInput): PodStatus {
  const [hostIP] = nodeAddresses
  const host = hostIP === undefined ? {} : { hostIP, hostIPs: nodeAddresses.map(ip => ({ ip })) }
  const sandboxed = observed.sandboxes.find(({ addresses }) => addresses.length > 0)?.addresses ?? []
  const own = pod.spec?.hostNetwork ? nodeAddresses : sortAddresses(sandboxed, nodeAddresses)
  const kept = own.length === 0 && stage !== 'running' ? (previous.podIPs ?? []).map(({ ip }) => ip) : own
  const [podIP] = kept
  return podIP === undefined ? host : { ...host, podIP, podIPs: kept.map(ip => ({ ip })) }
}

/** Resources of the whole pod. */
function resourcesOf({ spec }: Pod): PodStatus {
  if (spec === undefined) return {}
  const requests = amounts(podRequests(spec))
  const limits = amounts(aggregatePodResources(spec, 'limits'))
  const resources: ResourceRequirements = { ...(limits && { limits }), ...(requests && { requests }) }
  return { ...(requests && { allocatedResources: requests }), resources }
}

function amounts(quantities: ReadonlyMap<string, Quantity>): Readonly<Record<string, string>> | undefined {
  if (quantities.size === 0) return undefined
  return Object.fromEntries([...quantities].map(([name, amount]) => [name, formatQuantity(amount)]))
}
