/**
 * Kubelet admission: decides whether the node accepts a pod bound to it. It repeats the scheduler's checks,
 * because the scheduler may have used outdated state, and pods can be bound without the scheduler or by
 * several at once.
 */
import type { Node, Pod } from '#/api/generated/core/v1.ts'
import { compileNodeSelector } from '#/api/selectors/node-selector.ts'
import { podRequests } from '#/api/core/pod-resources.ts'
import type { Quantity } from '#/api/text/quantity.ts'
import { qosClassOf } from '#/api/core/qos-class.ts'
import { findMatchingUntoleratedTaint } from '#/api/core/taints.ts'
import { isExtendedResource } from '#/api/core/pod-resources.ts'
import { isCriticalPod } from './critical-pod.ts'
import { hostPortsOf } from './host-ports.ts'
import type { PodFailure } from './pod-status.ts'
import { forbiddenSysctl } from './pod-sysctls.ts'
import { countedAmount, countedCapacity, wholeAmount, type ResourceList } from './resource-amount.ts'

export interface NodeResources {
  readonly allocatable: ResourceList
  /** Admitted pods on this node that have not terminated. */
  readonly otherPods: readonly Pod[]
}

export interface AdmissionInput extends NodeResources {
  readonly pod: Pod
  readonly isStatic: boolean
  /** The API object; undefined until the node is registered. */
  readonly node: Node | undefined
  /** Node conditions that are true, such as `DiskPressure`. */
  readonly pressures: ReadonlySet<string>
  /** From the node's settings. */
  readonly allowedUnsafeSysctls: readonly string[]
}

/** Undefined if the pod is admitted. */
export function admitPod(input: AdmissionInput): PodFailure | undefined {
  return (
    rejectOnPressure(input) ??
    rejectOnSysctl(input) ??
    rejectOnOs(input) ??
    findShortage(input) ??
    rejectOnNodeAffinity(input) ??
    rejectOnPorts(input) ??
    rejectOnTaints(input)
  )
}

/**
 * Under node pressure only critical pods are admitted; under memory pressure alone, also pods that are not
 * BestEffort or that tolerate the taint.
 */
function rejectOnPressure({ pod, isStatic, pressures }: AdmissionInput): PodFailure | undefined {
  if (pressures.size === 0 || isCriticalPod(pod, isStatic)) return undefined
  const isMemory = pressures.size === 1 && pressures.has('MemoryPressure')
  const isTolerated =
    findMatchingUntoleratedTaint([memoryTaint], pod.spec?.tolerations, ['NoSchedule']) === undefined
  if (isMemory && (qosClassOf(pod) !== 'BestEffort' || isTolerated)) return undefined
  return { reason: 'Evicted', message: `The node had condition: [${[...pressures].join(' ')}]. ` }
}

const memoryTaint = { key: 'node.kubernetes.io/memory-pressure', effect: 'NoSchedule' }

function rejectOnSysctl({ pod, allowedUnsafeSysctls }: AdmissionInput): PodFailure | undefined {
  const message = forbiddenSysctl(pod, allowedUnsafeSysctls)
  return message === undefined ? undefined : { reason: 'SysctlForbidden', message }
}

const systemLabel = 'kubernetes.io/os'

function rejectOnOs({ pod, node }: AdmissionInput): PodFailure | undefined {
  const label = pod.metadata.labels?.[systemLabel]
  if (label !== undefined && label !== 'linux') {
    const message = "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label"
    return { reason: 'PodOSSelectorNodeLabelDoesNotMatch', message }
  }
  if (pod.spec?.os !== undefined && pod.spec.os.name !== 'linux') {
    return {
      reason: 'PodOSNotSupported',
      message: "Failed to admit pod as the OS field doesn't match node OS",
    }
  }
  const isStrict = pod.spec?.securityContext?.supplementalGroupsPolicy === 'Strict'
  if (isStrict && node !== undefined && node.status?.features?.supplementalGroupsPolicy !== true) {
    const message = 'SupplementalGroupsPolicy=Strict is not supported in this node'
    return { reason: 'SupplementalGroupsPolicyNotSupported', message }
  }
  return undefined
}

/** Undefined if the node has what the pod requests beside the other pods. */
export function findShortage({
  pod,
  otherPods,
  allocatable,
}: NodeResources & { readonly pod: Pod }): PodFailure | undefined {
  const podsMax = wholeAmount(allocatable, 'pods')
  if (otherPods.length + 1 > podsMax) {
    return outOf('pods', { requested: 1, used: otherPods.length, capacity: podsMax })
  }
  for (const [name, amount] of amountsOf(pod)) {
    const requested = countedAmount(name, amount)
    // An extended resource that the node does not report may be a cluster-level resource.
    const isForeign = isExtendedResource(name) && allocatable[name] === undefined
    if (requested === 0 || isForeign) continue
    const capacity = countedCapacity(allocatable, name)
    const used = otherPods.reduce((sum, other) => sum + countedAmount(name, amountsOf(other).get(name)), 0)
    if (requested > capacity - used) return outOf(name, { requested, used, capacity })
  }
  return undefined
}

function amountsOf({ spec }: Pod): ReadonlyMap<string, Quantity> {
  return spec === undefined ? new Map() : podRequests(spec)
}

interface Shortage {
  readonly requested: number
  readonly used: number
  readonly capacity: number
}

function outOf(name: string, { requested, used, capacity }: Shortage): PodFailure {
  const amounts = `requested: ${requested}, used: ${used}, capacity: ${capacity}`
  return { reason: `OutOf${name}`, message: `Node didn't have enough resource: ${name}, ${amounts}` }
}

function rejectOnNodeAffinity({ pod, node }: AdmissionInput): PodFailure | undefined {
  if (node === undefined) return undefined
  const labels = node.metadata.labels ?? {}
  const { nodeSelector = {}, affinity } = pod.spec ?? {}
  const needed = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  const fits =
    Object.entries(nodeSelector).every(([name, value]) => labels[name] === value) &&
    (needed === undefined || compileNodeSelector(needed)(node))
  return fits ? undefined : failed('NodeAffinity', "node(s) didn't match Pod's node affinity/selector")
}

function rejectOnPorts({ pod, otherPods }: AdmissionInput): PodFailure | undefined {
  const wanted = portsOf(pod)
  const taken = otherPods.flatMap(portsOf)
  const isTaken = wanted.some(port => {
    return taken.some(other => {
      const isSameAddress = port.address === other.address || port.address === any || other.address === any
      return port.number === other.number && port.protocol === other.protocol && isSameAddress
    })
  })
  return isTaken
    ? failed('NodePorts', "node(s) didn't have free ports for the requested pod ports")
    : undefined
}

const any = '0.0.0.0'

interface UsedPort {
  readonly protocol: string
  readonly address: string
  readonly number: number
}

/** With `hostNetwork`, `hostPortsOf` returns nothing, so the ports come from the containers. */
function portsOf(pod: Pod): readonly UsedPort[] {
  const { containers = [], hostNetwork = false } = pod.spec ?? {}
  if (!hostNetwork) {
    return hostPortsOf(pod).map(({ protocol, hostIp, hostPort }) => {
      return { protocol, address: hostIp || any, number: hostPort }
    })
  }
  return containers.flatMap(({ ports = [] }) => {
    return ports
      .filter(({ hostPort = 0 }) => hostPort > 0)
      .map(({ protocol = 'TCP', hostIP = '', hostPort = 0 }) => {
        return { protocol, address: hostIP || any, number: hostPort }
      })
  })
}

function rejectOnTaints({ pod, isStatic, node }: AdmissionInput): PodFailure | undefined {
  const taint = isStatic
    ? undefined
    : findMatchingUntoleratedTaint(node?.spec?.taints, pod.spec?.tolerations, ['NoExecute'])
  return taint && failed('TaintToleration', "node(s) had taints that the pod didn't tolerate")
}

function failed(name: string, why: string): PodFailure {
  return { reason: name, message: `Predicate ${name} failed: ${why}` }
}
