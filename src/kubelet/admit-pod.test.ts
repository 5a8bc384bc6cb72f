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

check('what fits is taken', { pod: asking({ cpu: '2', memory: '1Gi' }) }, 'taken')
check(
  'processors in thousandths',
  { pod: asking({ cpu: '1500m' }), otherPods: [asking({ cpu: '600m' })] },
  `OutOfcpu: ${shortOf}: cpu, requested: 1500, used: 600, capacity: 2000`,
)
check(
  'memory in bytes',
  { pod: asking({ memory: '2Gi' }) },
  `OutOfmemory: ${shortOf}: memory, requested: 2147483648, used: 0, capacity: 1073741824`,
)
check(
  'what the node does not have at all',
  { pod: asking({ 'ephemeral-storage': '1' }) },
  `OutOfephemeral-storage: ${shortOf}: ephemeral-storage, requested: 1, used: 0, capacity: 0`,
)
check(
  'what others announce',
  { pod: asking({ 'example.com/gpu': '1' }), otherPods: [asking({ 'example.com/gpu': '1' })] },
  `OutOfexample.com/gpu: ${shortOf}: example.com/gpu, requested: 1, used: 1, capacity: 1`,
)
check('what only the cluster knows', { pod: asking({ 'example.com/licence': '1' }) }, 'taken')
check(
  'so many pods and no more',
  { otherPods: [pod(), pod(), pod()] },
  `OutOfpods: ${shortOf}: pods, requested: 1, used: 3, capacity: 3`,
)
const elsewhere =
  "NodeAffinity: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"
check('the right labels', { pod: pod({ nodeSelector: { disk: 'ssd' } }) }, 'taken')
check('the wrong labels', { pod: pod({ nodeSelector: { disk: 'hdd' } }) }, elsewhere)
const affinity = (values: readonly string[]): PodSpec['affinity'] & object => {
  const matchExpressions = [{ key: 'disk', operator: 'In', values }]
  const needed = { nodeSelectorTerms: [{ matchExpressions }] }
  return { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: needed } }
}
check('affinity that holds', { pod: pod({ affinity: affinity(['ssd']) }) }, 'taken')
check('affinity that does not', { pod: pod({ affinity: affinity(['hdd']) }) }, elsewhere)
check(
  'a node that is not known yet',
  { pod: pod({ nodeSelector: { disk: 'hdd' } }), node: undefined },
  'taken',
)
const taken =
  "NodePorts: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"
const port80 = { hostPort: 80 }
check('a port that is free', { pod: listening(port80), otherPods: [listening({ hostPort: 81 })] }, 'taken')
check('a port that is taken', { pod: listening(port80), otherPods: [listening(port80)] }, taken)
check(
  'a port for another protocol',
  { pod: listening(port80), otherPods: [listening({ ...port80, protocol: 'UDP' })] },
  'taken',
)
check(
  'a port of another address',
  {
    pod: listening({ ...port80, hostIP: '10.0.0.1' }),
    otherPods: [listening({ ...port80, hostIP: '10.0.0.2' })],
  },
  'taken',
)
check(
  'a port of one address and of all',
  { pod: listening({ ...port80, hostIP: '10.0.0.1' }), otherPods: [listening(port80)] },
  taken,
)
check(
  "a port on the node's network",
  { pod: listening(port80, { hostNetwork: true }), otherPods: [listening(port80)] },
  taken,
)
check(
  'a taint that drives away',
  { pod: pod({ tolerations: [] }) },
  "TaintToleration: Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate",
)
check('but not what the node itself runs', { pod: pod({ tolerations: [] }), isStatic: true }, 'taken')
check(
  'another system',
  { pod: pod({ os: { name: 'windows' } }) },
  "PodOSNotSupported: Failed to admit pod as the OS field doesn't match node OS",
)
check(
  'a label for another system',
  { pod: pod({}, { labels: { 'kubernetes.io/os': 'windows' } }) },
  "PodOSSelectorNodeLabelDoesNotMatch: Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
)
check(
  'groups that the runtime cannot be strict about',
  { pod: pod({ securityContext: { supplementalGroupsPolicy: 'Strict' } }) },
  'SupplementalGroupsPolicyNotSupported: SupplementalGroupsPolicy=Strict is not supported in this node',
)

const full = { pressures: new Set(['DiskPressure']) }
const tight = { pressures: new Set(['MemoryPressure']) }
const memoryToleration = { key: 'node.kubernetes.io/memory-pressure', operator: 'Exists' }
check('a full disk', full, 'Evicted: The node had condition: [DiskPressure]. ')
check('a full disk, but the node needs the pod', { ...full, pod: pod({ priority: 2_000_000_000 }) }, 'taken')
check('a full disk, but the pod is the node itself', { ...full, isStatic: true }, 'taken')
check('little memory, and nothing asked for', tight, 'Evicted: The node had condition: [MemoryPressure]. ')
check('little memory, and some asked for', { ...tight, pod: asking({ memory: '1Mi' }) }, 'taken')
check(
  'little memory, which the pod puts up with',
  { ...tight, pod: pod({ tolerations: [...tolerations, memoryToleration] }) },
  'taken',
)
check(
  'little memory and a full disk',
  { pressures: new Set(['MemoryPressure', 'DiskPressure']), pod: asking({ memory: '1Mi' }) },
  'Evicted: The node had condition: [MemoryPressure DiskPressure]. ',
)
const sysctls = { securityContext: { sysctls: [{ name: 'kernel.msgmax', value: '1' }] } }
check(
  'a setting of the kernel that is not for pods',
  { pod: pod(sysctls) },
  'SysctlForbidden: forbidden sysctl: "kernel.msgmax" not allowlisted',
)
check(
  'a setting of the kernel that the node allows',
  { pod: pod(sysctls), allowedUnsafeSysctls: ['kernel.msg*'] },
  'taken',
)
