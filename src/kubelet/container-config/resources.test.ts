import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Container, Pod, PodSpec, ResourceRequirements } from '#/api/generated/core/v1.ts'
import type { LinuxResources } from '#/cri/cri.ts'
import type { MachineInfo } from '../machine-info.ts'
import { containerResources, overheadResources, sandboxResources } from './resources.ts'
import { machine, podWith } from './test-input.ts'

const mebi = 1024 ** 2

/** `shares quota/period memory`. */
function basic(resources: LinuxResources | undefined): string {
  const { cpuShares, cpuQuota, cpuPeriod, memoryLimitBytes } = resources ?? {}
  return `${cpuShares} ${cpuQuota}/${cpuPeriod} ${memoryLimitBytes === undefined ? '-' : memoryLimitBytes / mebi}`
}

function resourcesOf(
  resources: ResourceRequirements,
  { spec = {}, on = {} }: { readonly spec?: Partial<PodSpec>; readonly on?: Partial<MachineInfo> } = {},
): LinuxResources {
  const container: Container = { name: 'c', resources }
  return containerResources(podWith({ containers: [container], ...spec }), container, { ...machine, ...on })
}

test('CPU requests become shares and limits become quotas', () => {
  const cases: readonly (readonly [ResourceRequirements, string])[] = [
    [{}, '2 0/100000 -'],
    [{ requests: { cpu: '1' } }, '1024 0/100000 -'],
    [{ requests: { cpu: '250m' } }, '256 0/100000 -'],
    [{ requests: { cpu: '1m' } }, '2 0/100000 -'],
    [{ requests: { cpu: '10000' } }, '262144 0/100000 -'],
    [{ limits: { cpu: '500m' } }, '512 50000/100000 -'],
    [{ requests: { cpu: '0' }, limits: { cpu: '500m' } }, '2 50000/100000 -'],
    [{ requests: { cpu: '100m' }, limits: { cpu: '2', memory: '64Mi' } }, '102 200000/100000 64'],
    [{ limits: { cpu: '1m' } }, '2 1000/100000 -'],
  ]
  for (const [resources, expected] of cases)
    assert.equal(basic(resourcesOf(resources)), expected, JSON.stringify(resources))
})

test('a pod-level limit applies to containers without limits', () => {
  const spec = { resources: { limits: { cpu: '1', memory: '128Mi' } } }
  assert.equal(basic(resourcesOf({}, { spec })), '1024 100000/100000 128')
  assert.equal(
    basic(resourcesOf({ limits: { cpu: '500m', memory: '64Mi' } }, { spec })),
    '512 50000/100000 64',
  )
  assert.equal(basic(resourcesOf({ requests: { cpu: '100m' } }, { spec })), '102 100000/100000 128')
})

test('swap is disabled, and cgroup v2 kills all processes of a container on OOM', () => {
  const limits = { memory: '64Mi' }
  const swap = (resources: ResourceRequirements, on: Partial<MachineInfo>): unknown => {
    const { memorySwapLimitBytes, unified } = resourcesOf(resources, { on })
    return memorySwapLimitBytes ?? unified
  }
  assert.equal(swap({ limits }, { canLimitSwap: false }), undefined)
  assert.equal(swap({ limits }, { canLimitSwap: true }), 64 * mebi)
  assert.equal(swap({}, { canLimitSwap: true }), undefined)
  const group = { 'memory.oom.group': '1' }
  assert.deepEqual(swap({ limits }, { cgroupVersion: 2 }), group)
  assert.deepEqual(swap({}, { cgroupVersion: 2, canLimitSwap: true }), { ...group, 'memory.swap.max': '0' })
})

test('huge page limits are those requested, and zero for other sizes', () => {
  const on = { hugePageSizes: ['2MB', '1GB'] }
  const pages = (resources: ResourceRequirements, spec: Partial<PodSpec> = {}): string => {
    const { hugepageLimits = [] } = resourcesOf(resources, { on, spec })
    return hugepageLimits.map(({ pageSize, limitBytes }) => `${pageSize}=${limitBytes / mebi}`).join(' ')
  }
  assert.equal(pages({}), '2MB=0 1GB=0')
  assert.equal(pages({ limits: { 'hugepages-2Mi': '100Mi' } }), '2MB=100 1GB=0')
  const spec = { resources: { limits: { 'hugepages-1Gi': '2Gi', 'hugepages-2Mi': '4Mi' } } }
  assert.equal(pages({ limits: { 'hugepages-2Mi': '2Mi' } }, spec), '2MB=2 1GB=2048')
})

test('the OOM score follows QoS class, memory request and priority', () => {
  const gibi = (amount: number): ResourceRequirements => ({ requests: { memory: `${amount}Gi` } })
  const score = (pod: Pod, container: Container): number | undefined => {
    return containerResources(pod, container, machine).oomScoreAdj
  }
  const scoreOf = (resources: ResourceRequirements, spec: Partial<PodSpec> = {}): number | undefined => {
    return resourcesOf(resources, { spec }).oomScoreAdj
  }
  const exact = { cpu: '1', memory: '1Gi' }
  assert.equal(scoreOf({}), 1000, 'best effort')
  assert.equal(scoreOf({ requests: exact, limits: exact }), -997, 'guaranteed')
  assert.equal(scoreOf({ requests: { cpu: '1' } }), 999, 'burstable without memory')
  assert.equal(scoreOf(gibi(4)), 500)
  assert.equal(scoreOf(gibi(1)), 875)
  assert.equal(scoreOf(gibi(8)), 3, 'never as safe as one that is guaranteed')
  const critical = { priorityClassName: 'system-node-critical', priority: 2_000_001_000 }
  assert.equal(scoreOf({}, critical), -997)
  assert.equal(scoreOf({}, { ...critical, priority: 1 }), 1000)
  assert.equal(scoreOf({}, { priorityClassName: 'system-cluster-critical', priority: 2_000_000_000 }), 1000)

  const main = { name: 'main', resources: gibi(4) }
  const sidecar = { name: 'side', restartPolicy: 'Always' }
  const pod = podWith({ containers: [main], initContainers: [sidecar] })
  assert.equal(score(pod, sidecar), 500, 'a sidecar is as safe as those it serves')
  const init = { name: 'init' }
  assert.equal(score(podWith({ containers: [main], initContainers: [init] }), init), 999)
  const whole = podWith({ containers: [{ name: 'a' }, { name: 'b' }], resources: gibi(4) })
  assert.equal(score(whole, { name: 'a' }), 750, 'what the pod asks for counts for each')
  const source = { 'kubernetes.io/config.source': 'file' }
  const critically = podWith({ priorityClassName: 'system-node-critical' })
  assert.equal(
    score({ ...critically, metadata: { annotations: source } }, { name: 'a' }),
    -997,
    'of the node itself',
  )
})

test('sandbox resources are the sum of its containers plus overhead', () => {
  const half = { requests: { cpu: '500m' }, limits: { cpu: '1', memory: '64Mi' } }
  const pod = podWith({
    containers: [
      { name: 'a', resources: half },
      { name: 'b', resources: half },
    ],
    overhead: { cpu: '250m', memory: '32Mi' },
  })
  assert.equal(basic(sandboxResources(pod)), '1024 200000/100000 128')
  assert.equal(basic(overheadResources(pod)), '256 25000/100000 32')
  assert.equal(overheadResources(podWith()), undefined)
})
