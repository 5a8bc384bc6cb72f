import type { Node, NodeCondition } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { formatTime } from '#/api/text/time.ts'
import { declaredFeatures } from '../declared-features.ts'
import type { NodeShape } from '../hollow-kubelet.ts'

const capacityUsual = { 'cpu': '8', 'memory': '32Gi', 'ephemeral-storage': '100Gi', 'pods': '110' }

/** The node object at registration. */
export function registeredNode({ name, labels, taints, podCidr }: NodeShape): Node {
  const system = { 'kubernetes.io/arch': 'amd64', 'kubernetes.io/os': 'linux' }
  return {
    metadata: {
      name,
      labels: { ...system, ...prefixed('beta.', system), 'kubernetes.io/hostname': name, ...labels },
    },
    spec: { podCIDR: podCidr, podCIDRs: [podCidr], ...(taints && { taints }) },
  }
}

export function readyNode(node: Stored<Node>, shape: NodeShape, nowMs: number): Node {
  const capacity = { ...capacityUsual, ...shape.capacity }
  return {
    ...node,
    status: {
      ...node.status,
      capacity,
      allocatable: capacity,
      addresses: [
        { type: 'InternalIP', address: shape.address },
        { type: 'Hostname', address: shape.name },
      ],
      declaredFeatures,
      conditions: conditions.map(condition => conditionNow(node, condition, nowMs)),
      nodeInfo: {
        architecture: 'amd64',
        bootID: node.metadata.uid,
        containerRuntimeVersion: 'simulated://1.0.0',
        kernelVersion: 'simulated',
        kubeProxyVersion: '',
        kubeletVersion: 'v1.36.0',
        machineID: node.metadata.uid,
        operatingSystem: 'linux',
        osImage: 'simulated',
        systemUUID: node.metadata.uid,
      },
    },
  }
}

type ConditionState = Pick<NodeCondition, 'type' | 'status' | 'reason' | 'message'>

const conditions: readonly ConditionState[] = [
  good('MemoryPressure', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'),
  good('DiskPressure', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'),
  good('PIDPressure', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'),
  { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'kubelet is posting ready status' },
]

function good(type: string, reason: string, message: string): ConditionState {
  return { type, status: 'False', reason, message }
}

function conditionNow(node: Node, condition: ConditionState, nowMs: number): NodeCondition {
  const before = node.status?.conditions?.find(({ type }) => type === condition.type)
  const now = formatTime(nowMs)
  const since = before?.status === condition.status ? before.lastTransitionTime : undefined
  return { ...condition, lastHeartbeatTime: now, lastTransitionTime: since ?? now }
}

function prefixed(prefix: string, labels: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).map(([name, value]) => [`${prefix}${name}`, value]))
}
