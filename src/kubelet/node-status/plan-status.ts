/** Computes the node status. */
import type { NodeCondition, NodeStatus } from '#/api/generated/core/v1.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { formatTime } from '#/api/text/time.ts'
import type { Image, RuntimeHandler, RuntimeVersion } from '#/cri/cri.ts'
import type { HostInfo } from '#/platform/linux.ts'
import type { PressureType } from '../eviction.ts'
import type { MachineInfo } from '../machine-info.ts'
import type { KubeletConfiguration } from '../kubelet-configuration.ts'
import type { ResourceList } from '../resource-amount.ts'

export interface NodeObservation {
  readonly machine: MachineInfo
  readonly hostInfo: HostInfo
  readonly kubeletVersion: string
  /** Undefined if it does not answer. */
  readonly runtime: RuntimeVersion | undefined
  readonly handlers: readonly RuntimeHandler[]
  readonly images: readonly Image[]
  /** Reasons why the node is not ready. */
  readonly problems: readonly string[]
  readonly pressures: ReadonlySet<PressureType>
  readonly volumesInUse: readonly string[]
  readonly declaredFeatures: readonly string[]
}

export interface NodeStatusInput {
  readonly node: KubeletConfiguration
  readonly observed: NodeObservation
  readonly nowMs: number
}

/** Fields of other components are kept: extended resources, attached volumes, conditions of other types. */
export function planStatus(before: NodeStatus, { node, observed, nowMs }: NodeStatusInput): NodeStatus {
  const { machine, handlers, images, volumesInUse, declaredFeatures } = observed
  const others = foreignCapacity(before.capacity)
  const { conditions = [] } = before
  const own = conditionsOf(observed).map(condition => timed(condition, conditions, nowMs))
  return {
    ...before,
    addresses: [
      ...node.addresses.map(address => ({ type: 'InternalIP', address })),
      { type: 'Hostname', address: node.name },
    ],
    capacity: { ...others, ...machine.capacity },
    allocatable: { ...others, ...machine.allocatable },
    conditions: [...conditions.filter(({ type }) => !own.some(condition => condition.type === type)), ...own],
    daemonEndpoints: { kubeletEndpoint: { Port: node.kubeletPort } },
    nodeInfo: nodeInfoOf(observed),
    ...(handlers.length > 0 && { runtimeHandlers: handlersOf(handlers) }),
    ...((images.length > 0 || before.images) && { images: imagesOf(images) }),
    ...((volumesInUse.length > 0 || before.volumesInUse) && { volumesInUse: [...volumesInUse].sort() }),
    ...(declaredFeatures.length > 0 && { declaredFeatures: [...declaredFeatures].sort() }),
  }
}

/** True if anything but heartbeat times differs. */
export function hasChanged(before: NodeStatus, after: NodeStatus): boolean {
  return !equalJson(withoutHeartbeats(before), withoutHeartbeats(after))
}

function withoutHeartbeats({ conditions = [], ...rest }: NodeStatus): object {
  const quiet = conditions.map(condition => ({ ...condition, lastHeartbeatTime: '' }))
  return { ...rest, conditions: quiet.sort((a, b) => (a.type < b.type ? -1 : 1)) }
}

type ConditionState = Pick<NodeCondition, 'type' | 'status' | 'reason' | 'message'>

function conditionsOf({ pressures, problems }: NodeObservation): readonly ConditionState[] {
  const pressed = (type: PressureType, bad: readonly string[], good: readonly string[]): ConditionState => {
    const isPressed = pressures.has(type)
    const [reason = '', message = ''] = isPressed ? bad : good
    return { type, status: isPressed ? 'True' : 'False', reason, message }
  }
  return [
    pressed(
      'MemoryPressure',
      ['KubeletHasInsufficientMemory', 'kubelet has insufficient memory available'],
      ['KubeletHasSufficientMemory', 'kubelet has sufficient memory available'],
    ),
    pressed(
      'DiskPressure',
      ['KubeletHasDiskPressure', 'kubelet has disk pressure'],
      ['KubeletHasNoDiskPressure', 'kubelet has no disk pressure'],
    ),
    pressed(
      'PIDPressure',
      ['KubeletHasInsufficientPID', 'kubelet has insufficient PID available'],
      ['KubeletHasSufficientPID', 'kubelet has sufficient PID available'],
    ),
    readyCondition(problems),
  ]
}

function readyCondition(problems: readonly string[]): ConditionState {
  if (problems.length === 0) {
    return {
      type: 'Ready',
      status: 'True',
      reason: 'KubeletReady',
      message: 'kubelet is posting ready status',
    }
  }
  const [only = ''] = problems
  const message = problems.length === 1 ? only : `[${problems.join(', ')}]`
  return { type: 'Ready', status: 'False', reason: 'KubeletNotReady', message }
}

function timed(
  condition: ConditionState,
  conditions: readonly NodeCondition[],
  nowMs: number,
): NodeCondition {
  const before = conditions.find(({ type }) => type === condition.type)
  const now = formatTime(nowMs)
  const since = before?.status === condition.status ? before.lastTransitionTime : undefined
  return { ...condition, lastHeartbeatTime: now, lastTransitionTime: since ?? now }
}

/**
 * Capacity set by other components, such as `example.com/gpu`. Stale huge page resources are not included.
 */
function foreignCapacity(capacity: ResourceList | undefined): ResourceList {
  return Object.fromEntries(Object.entries(capacity ?? {}).filter(([name]) => name.includes('/')))
}

/** The status lists only the largest images, each with a limited number of names. */
const imagesMax = 50
const namesMax = 5

function imagesOf(images: readonly Image[]): NonNullable<NodeStatus['images']> {
  return images
    .toSorted((a, b) => b.sizeBytes - a.sizeBytes || (a.id < b.id ? -1 : 1))
    .slice(0, imagesMax)
    .map(({ digests, tags, sizeBytes }) => ({ names: [...digests, ...tags].slice(0, namesMax), sizeBytes }))
}

function handlersOf(handlers: readonly RuntimeHandler[]): NonNullable<NodeStatus['runtimeHandlers']> {
  return handlers
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, supportsRecursiveReadOnlyMounts, supportsUserNamespaces }) => ({
      name,
      features: {
        recursiveReadOnlyMounts: supportsRecursiveReadOnlyMounts,
        userNamespaces: supportsUserNamespaces,
      },
    }))
}

function nodeInfoOf({
  hostInfo,
  kubeletVersion,
  runtime,
}: NodeObservation): NonNullable<NodeStatus['nodeInfo']> {
  return {
    architecture: hostInfo.architecture,
    bootID: hostInfo.bootId,
    containerRuntimeVersion:
      runtime === undefined ? 'Unknown' : `${runtime.name}://${withoutPrefix(runtime.version)}`,
    kernelVersion: hostInfo.kernelVersion,
    kubeProxyVersion: '',
    kubeletVersion,
    machineID: hostInfo.machineId,
    operatingSystem: 'linux',
    osImage: hostInfo.osImage,
    systemUUID: hostInfo.systemUuid,
    ...(hostInfo.swapBytes > 0 && { swap: { capacity: hostInfo.swapBytes } }),
  }
}

/** Some runtimes report versions such as `v1.7.0`. */
function withoutPrefix(version: string): string {
  return version.replace(/^v(?=[0-9])/, '')
}

interface PlannedEvent {
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly message: string
}

/** Events for changes of the node status. */
export function planEvents(name: string, before: NodeStatus, after: NodeStatus): readonly PlannedEvent[] {
  const events: PlannedEvent[] = []
  const bootBefore = before.nodeInfo?.bootID ?? ''
  const bootId = after.nodeInfo?.bootID ?? ''
  if (bootBefore !== '' && bootBefore !== bootId) {
    const message = `Node ${name} has been rebooted, boot id: ${bootId}`
    events.push({ type: 'Warning', reason: 'Rebooted', message })
  }
  for (const { type, status } of after.conditions ?? []) {
    const known = before.conditions?.find(condition => condition.type === type)
    const reason = eventReasons[`${type}=${status}`]
    // No Ready event for a node that is registered for the first time.
    const isNews = known === undefined ? type !== 'Ready' : known.status !== status
    if (reason === undefined || !isNews) continue
    events.push({ type: 'Normal', reason, message: `Node ${name} status is now: ${reason}` })
  }
  return events
}

const eventReasons: Readonly<Record<string, string>> = {
  'MemoryPressure=True': 'NodeHasInsufficientMemory',
  'MemoryPressure=False': 'NodeHasSufficientMemory',
  'DiskPressure=True': 'NodeHasDiskPressure',
  'DiskPressure=False': 'NodeHasNoDiskPressure',
  'PIDPressure=True': 'NodeHasInsufficientPID',
  'PIDPressure=False': 'NodeHasSufficientPID',
  'Ready=True': 'NodeReady',
  'Ready=False': 'NodeNotReady',
}
