import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Node, Pod, PodSpec } from '#/api/generated/core/v1.ts'
import { admitPod, type AdmissionInput } from './admit-pod.ts'

const node: Node = {
  metadata: { name: 'n1', labels: { 'kubernetes.io/os': 'linux', 'disk': 'ssd' } },
  spec: {
    taints: [
      { key: 'gone', effect: 'NoExecute' },
      { key: 'full', effect: 'NoSchedule' },
    ],
  },
}
const allocatable = { 'cpu': '2', 'memory': '1Gi', 'pods': '3', 'example.com/gpu': '1' }
const tolerations = [{ key: 'gone', operator: 'Exists' }]

function pod(spec: Partial<PodSpec> = {}, metadata: Pod['metadata'] = {}): Pod {
  return { metadata, spec: { tolerations, containers: [], ...spec } }
}

function asking(requests: Readonly<Record<string, string>>): Pod {
  return pod({ containers: [{ name: 'a', image: 'i', resources: { requests } }] })
}

function listening(port: object, more: Partial<PodSpec> = {}): Pod {
  const ports = [{ containerPort: 80, ...port }]
  return pod({ containers: [{ name: 'a', image: 'i', ports }], ...more })
}

function check(name: string, input: Partial<AdmissionInput>, expected: string): void {
  test(`admitPod: ${name}`, () => {
    const usual = { pressures: new Set<string>(), allowedUnsafeSysctls: [], otherPods: [] }
    const refused = admitPod({ pod: pod(), isStatic: false, node, allocatable, ...usual, ...input })
    assert.equal(refused === undefined ? 'taken' : `${refused.reason}: ${refused.message}`, expected)
  })
}

const shortOf = "Node didn't have enough resource"

check('a pod that fits is admitted', { pod: asking({ cpu: '2', memory: '1Gi' }) }, 'taken')
check(
  'CPU over the capacity is rejected, in millicores',
  { pod: asking({ cpu: '1500m' }), otherPods: [asking({ cpu: '600m' })] },
  `OutOfcpu: ${shortOf}: cpu, requested: 1500, used: 600, capacity: 2000`,
)
check(
  'memory over the capacity is rejected, in bytes',
  { pod: asking({ memory: '2Gi' }) },
  `OutOfmemory: ${shortOf}: memory, requested: 2147483648, used: 0, capacity: 1073741824`,
)
check(
  'a resource that the node lacks is rejected',
  { pod: asking({ 'ephemeral-storage': '1' }) },
  `OutOfephemeral-storage: ${shortOf}: ephemeral-storage, requested: 1, used: 0, capacity: 0`,
)
check(
  'an extended resource in use is rejected',
  { pod: asking({ 'example.com/gpu': '1' }), otherPods: [asking({ 'example.com/gpu': '1' })] },
  `OutOfexample.com/gpu: ${shortOf}: example.com/gpu, requested: 1, used: 1, capacity: 1`,
)
check(
  'an extended resource unknown to the node is admitted',
  { pod: asking({ 'example.com/licence': '1' }) },
  'taken',
)
check(
  'pods over the maximum are rejected',
  { otherPods: [pod(), pod(), pod()] },
  `OutOfpods: ${shortOf}: pods, requested: 1, used: 3, capacity: 3`,
)
const elsewhere =
  "NodeAffinity: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"
check('a matching nodeSelector is admitted', { pod: pod({ nodeSelector: { disk: 'ssd' } }) }, 'taken')
check(
  'a nodeSelector that does not match is rejected',
  { pod: pod({ nodeSelector: { disk: 'hdd' } }) },
  elsewhere,
)
const affinity = (values: readonly string[]): PodSpec['affinity'] & object => {
  const matchExpressions = [{ key: 'disk', operator: 'In', values }]
  const needed = { nodeSelectorTerms: [{ matchExpressions }] }
  return { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: needed } }
}
check('a matching node affinity is admitted', { pod: pod({ affinity: affinity(['ssd']) }) }, 'taken')
check(
  'a node affinity that does not match is rejected',
  { pod: pod({ affinity: affinity(['hdd']) }) },
  elsewhere,
)
check(
  'affinity is not checked before the node is known',
  { pod: pod({ nodeSelector: { disk: 'hdd' } }), node: undefined },
  'taken',
)
const taken =
  "NodePorts: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"
const port80 = { hostPort: 80 }
check(
  'a free host port is admitted',
  { pod: listening(port80), otherPods: [listening({ hostPort: 81 })] },
  'taken',
)
check('a host port in use is rejected', { pod: listening(port80), otherPods: [listening(port80)] }, taken)
check(
  'a host port in use with another protocol is admitted',
  { pod: listening(port80), otherPods: [listening({ ...port80, protocol: 'UDP' })] },
  'taken',
)
check(
  'a host port in use on another host IP is admitted',
  {
    pod: listening({ ...port80, hostIP: '10.0.0.1' }),
    otherPods: [listening({ ...port80, hostIP: '10.0.0.2' })],
  },
  'taken',
)
check(
  'a host port in use on all host IPs is rejected',
  { pod: listening({ ...port80, hostIP: '10.0.0.1' }), otherPods: [listening(port80)] },
  taken,
)
check(
  'a host port of a pod with the host network in use is rejected',
  { pod: listening(port80, { hostNetwork: true }), otherPods: [listening(port80)] },
  taken,
)
check(
  'a NoExecute taint without toleration is rejected',
  { pod: pod({ tolerations: [] }) },
  "TaintToleration: Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate",
)
check('a static pod is admitted despite taints', { pod: pod({ tolerations: [] }), isStatic: true }, 'taken')
check(
  'a pod for another OS is rejected',
  { pod: pod({ os: { name: 'windows' } }) },
  "PodOSNotSupported: Failed to admit pod as the OS field doesn't match node OS",
)
check(
  'an OS label that does not match is rejected',
  { pod: pod({}, { labels: { 'kubernetes.io/os': 'windows' } }) },
  "PodOSSelectorNodeLabelDoesNotMatch: Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
)
check(
  'SupplementalGroupsPolicy Strict without runtime support is rejected',
  { pod: pod({ securityContext: { supplementalGroupsPolicy: 'Strict' } }) },
  'SupplementalGroupsPolicyNotSupported: SupplementalGroupsPolicy=Strict is not supported in this node',
)

const full = { pressures: new Set(['DiskPressure']) }
const tight = { pressures: new Set(['MemoryPressure']) }
const memoryToleration = { key: 'node.kubernetes.io/memory-pressure', operator: 'Exists' }
check('a pod is rejected under disk pressure', full, 'Evicted: The node had condition: [DiskPressure]. ')
check(
  'a critical pod is admitted under disk pressure',
  { ...full, pod: pod({ priority: 2_000_000_000 }) },
  'taken',
)
check('a static pod is admitted under disk pressure', { ...full, isStatic: true }, 'taken')
check(
  'a BestEffort pod is rejected under memory pressure',
  tight,
  'Evicted: The node had condition: [MemoryPressure]. ',
)
check(
  'a Burstable pod is admitted under memory pressure',
  { ...tight, pod: asking({ memory: '1Mi' }) },
  'taken',
)
check(
  'a pod that tolerates memory pressure is admitted',
  { ...tight, pod: pod({ tolerations: [...tolerations, memoryToleration] }) },
  'taken',
)
check(
  'a Burstable pod is rejected under memory and disk pressure',
  { pressures: new Set(['MemoryPressure', 'DiskPressure']), pod: asking({ memory: '1Mi' }) },
  'Evicted: The node had condition: [MemoryPressure DiskPressure]. ',
)
const sysctls = { securityContext: { sysctls: [{ name: 'kernel.msgmax', value: '1' }] } }
check(
  'an unsafe sysctl is rejected',
  { pod: pod(sysctls) },
  'SysctlForbidden: forbidden sysctl: "kernel.msgmax" not allowlisted',
)
check(
  'an unsafe sysctl that the node allows is admitted',
  { pod: pod(sysctls), allowedUnsafeSysctls: ['kernel.msg*'] },
  'taken',
)
