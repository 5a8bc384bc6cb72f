import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Node, NodeStatus } from '#/api/generated/core/v1.ts'
import type { Image } from '#/cri/cri.ts'
import { kubeletConfiguration } from '../kubelet-configuration.ts'
import { hostInfo } from '../testdata/host-info.ts'
import { machine } from './test-observation.ts'
import { planEvents, hasChanged, planStatus, type NodeObservation } from './plan-status.ts'
import { missingMetadata, planNode } from './plan-node.ts'

const node = kubeletConfiguration({
  name: 'node-1',
  addresses: ['192.0.2.7', 'fd00::7'],
  rootDirectory: '/node',
  cgroupRoot: '/',
  labels: { zone: 'a' },
})

function observed(more: Partial<NodeObservation> = {}): NodeObservation {
  return {
    machine,
    hostInfo,
    kubeletVersion: 'v1.36.4+k8ts.0.1.0',
    runtime: { name: 'containerd', version: 'v1.6.20' },
    handlers: [],
    images: [],
    problems: [],
    pressures: new Set(),
    volumesInUse: [],
    declaredFeatures: [],
    ...more,
  }
}

const at = Date.UTC(2026, 0, 1)

function plan(before: NodeStatus, more: Partial<NodeObservation> = {}, nowMs = at): NodeStatus {
  return planStatus(before, { node, observed: observed(more), nowMs })
}

/** `MemoryPressure=False KubeletHasSufficientMemory: kubelet has ...`. */
function conditions(status: NodeStatus): readonly string[] {
  return (status.conditions ?? []).map(
    ({ type, status, reason, message }) => `${type}=${status} ${reason}: ${message}`,
  )
}

test('the status of a healthy node has Ready conditions and node info', () => {
  const status = plan({})
  assert.deepEqual(conditions(status), [
    'MemoryPressure=False KubeletHasSufficientMemory: kubelet has sufficient memory available',
    'DiskPressure=False KubeletHasNoDiskPressure: kubelet has no disk pressure',
    'PIDPressure=False KubeletHasSufficientPID: kubelet has sufficient PID available',
    'Ready=True KubeletReady: kubelet is posting ready status',
  ])
  assert.deepEqual(status.addresses, [
    { type: 'InternalIP', address: '192.0.2.7' },
    { type: 'InternalIP', address: 'fd00::7' },
    { type: 'Hostname', address: 'node-1' },
  ])
  assert.equal(status.nodeInfo?.containerRuntimeVersion, 'containerd://1.6.20')
  assert.equal(plan({}, { runtime: undefined }).nodeInfo?.containerRuntimeVersion, 'Unknown')
  assert.deepEqual(status.daemonEndpoints, { kubeletEndpoint: { Port: 10_250 } })
  assert.deepEqual(status.capacity, machine.capacity)
  assert.deepEqual(status.allocatable, machine.allocatable)
})

test('conditions of an unhealthy node have all reasons', () => {
  const pressures = new Set(['MemoryPressure', 'DiskPressure', 'PIDPressure'] as const)
  assert.deepEqual(conditions(plan({}, { pressures, problems: ['it is down'] })), [
    'MemoryPressure=True KubeletHasInsufficientMemory: kubelet has insufficient memory available',
    'DiskPressure=True KubeletHasDiskPressure: kubelet has disk pressure',
    'PIDPressure=True KubeletHasInsufficientPID: kubelet has insufficient PID available',
    'Ready=False KubeletNotReady: it is down',
  ])
  const several = plan({}, { problems: ['it is down', 'there is no network'] })
  assert.equal(several.conditions?.at(-1)?.message, '[it is down, there is no network]')
})

test('transition times stay while a condition is unchanged, heartbeat times are no change', () => {
  const first = plan({})
  const later = plan(first, {}, at + 60_000)
  assert.equal(hasChanged(first, later), false)
  assert.equal(later.conditions?.[0]?.lastHeartbeatTime, '2026-01-01T00:01:00Z')
  assert.equal(later.conditions?.[0]?.lastTransitionTime, '2026-01-01T00:00:00Z')
  const unready = plan(later, { problems: ['x'] }, at + 120_000)
  assert.equal(hasChanged(later, unready), true)
  assert.equal(unready.conditions?.at(-1)?.lastTransitionTime, '2026-01-01T00:02:00Z')
  const givenUp = {
    ...later,
    conditions: later.conditions?.map(each => ({ ...each, status: 'Unknown' })) ?? [],
  }
  assert.equal(hasChanged(givenUp, plan(givenUp)), true, 'others said that nobody knows')
})

test('conditions and addresses of other writers are kept', () => {
  const network = { type: 'NetworkUnavailable', status: 'False', reason: 'RouteCreated' }
  const before: NodeStatus = {
    capacity: { 'example.com/gpu': '2', 'hugepages-16Mi': '0', 'cpu': '1' },
    allocatable: { 'example.com/gpu': '1' },
    conditions: [network],
    volumesAttached: [{ name: 'v', devicePath: '/dev/x' }],
  }
  const after = plan(before)
  assert.equal(after.capacity?.['example.com/gpu'], '2')
  assert.equal(after.allocatable?.['example.com/gpu'], '2')
  assert.equal(after.capacity?.['hugepages-16Mi'], undefined)
  assert.equal(after.capacity?.['cpu'], machine.capacity['cpu'])
  assert.deepEqual(after.conditions?.[0], network)
  assert.deepEqual(after.volumesAttached, before.volumesAttached)
})

test('the node status lists the largest images with a bounded number of names', () => {
  const image = (sizeBytes: number, tags: number): Image => ({
    id: `sha256:${sizeBytes}`,
    tags: Array.from({ length: tags }, (_, index) => `t${index}`),
    digests: ['d'],
    sizeBytes,
    isPinned: false,
  })
  const many = Array.from({ length: 60 }, (_, index) => image(index, 1))
  const { images = [] } = plan({}, { images: many })
  assert.equal(images.length, 50)
  assert.equal(images[0]?.sizeBytes, 59)
  assert.deepEqual(plan({}, { images: [image(1, 9)] }).images?.[0]?.names, ['d', 't0', 't1', 't2', 't3'])
})

test('runtime handlers, volumes in use and features are listed in order', () => {
  const handler = (name: string): NodeObservation['handlers'][number] => {
    return { name, supportsUserNamespaces: true, supportsRecursiveReadOnlyMounts: false }
  }
  const status = plan(
    {},
    { handlers: [handler('runc'), handler('')], volumesInUse: ['b', 'a'], declaredFeatures: ['Z', 'A'] },
  )
  const features = { recursiveReadOnlyMounts: false, userNamespaces: true }
  assert.deepEqual(status.runtimeHandlers, [
    { name: '', features },
    { name: 'runc', features },
  ])
  assert.deepEqual(
    [status.volumesInUse, status.declaredFeatures],
    [
      ['a', 'b'],
      ['A', 'Z'],
    ],
  )
  assert.deepEqual(plan(status).volumesInUse, [], 'those that are in use no more are taken back')
})

test('node events report condition changes and a reboot', () => {
  const reasons = (before: NodeStatus, after: NodeStatus): readonly string[] => {
    return planEvents('node-1', before, after).map(
      ({ type, reason, message }) => `${type} ${reason}: ${message}`,
    )
  }
  const now = (reason: string): string => `Normal ${reason}: Node node-1 status is now: ${reason}`
  const first = plan({})
  assert.deepEqual(reasons({}, first), [
    now('NodeHasSufficientMemory'),
    now('NodeHasNoDiskPressure'),
    now('NodeHasSufficientPID'),
  ])
  assert.deepEqual(reasons(first, plan(first)), [])
  const bad = plan(first, { pressures: new Set(['DiskPressure']), problems: ['x'] })
  assert.deepEqual(reasons(first, bad), [now('NodeHasDiskPressure'), now('NodeNotReady')])
  assert.deepEqual(reasons(bad, first), [now('NodeHasNoDiskPressure'), now('NodeReady')])
  const restarted = plan(first, { hostInfo: { ...hostInfo, bootId: 'second' } })
  assert.deepEqual(reasons(first, restarted), [
    'Warning Rebooted: Node node-1 has been rebooted, boot id: second',
  ])
})

test('a node is registered with labels and taints, which are reconciled later', () => {
  const taints = [{ key: 'gpu', effect: 'NoSchedule' }]
  const wanted = planNode({ ...node, registerTaints: taints, podCidr: '10.244.1.0/24' }, hostInfo)
  assert.deepEqual(wanted.metadata.labels, {
    'beta.kubernetes.io/arch': 'amd64',
    'beta.kubernetes.io/os': 'linux',
    'kubernetes.io/arch': 'amd64',
    'kubernetes.io/hostname': 'node-1',
    'kubernetes.io/os': 'linux',
    'zone': 'a',
  })
  assert.deepEqual(wanted.spec, { podCIDR: '10.244.1.0/24', podCIDRs: ['10.244.1.0/24'], taints })
  assert.deepEqual(planNode(node, hostInfo).spec, {})
  assert.equal(missingMetadata(wanted, wanted), undefined)
  const old: Node = { metadata: { labels: { ...wanted.metadata.labels, zone: 'b', mine: 'x' } } }
  assert.deepEqual(missingMetadata(old, wanted), {
    labels: { zone: 'a' },
    annotations: wanted.metadata.annotations,
  })
})
