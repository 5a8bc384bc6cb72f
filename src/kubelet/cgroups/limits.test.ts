import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Container, Pod, PodSpec, ResourceRequirements } from '#/api/generated/core/v1.ts'
import { burstableShares, cgroupWrites, podLimits, type CgroupLimits } from './limits.ts'

const context = { podPidsMax: -1, hugePageSizes: ['2MB'] }

function podOf(containers: readonly ResourceRequirements[], spec: Partial<PodSpec> = {}): Pod {
  const named = containers.map((resources, index): Container => ({ name: `c${index}`, resources }))
  return { metadata: {}, spec: { containers: named, ...spec } }
}

/** `shares quota memory pids 2MB`, in mebibytes. */
function notation({ cpuShares, cpuQuota, memoryBytes, pids, hugePages }: CgroupLimits): string {
  const mebi = (bytes: number | undefined): number | undefined => {
    return bytes === undefined || bytes < 0 ? bytes : bytes / 1024 ** 2
  }
  return [cpuShares, cpuQuota ?? '.', mebi(memoryBytes) ?? '.', pids, mebi(hugePages?.get('2MB'))].join(' ')
}

test('pod cgroup limits are the sums of container limits when all are set', () => {
  const half = { cpu: '500m', memory: '64Mi' }
  const full = { requests: half, limits: half }
  const cases: readonly (readonly [Pod, string])[] = [
    [podOf([{}]), '2 . . -1 0'],
    [podOf([full, full]), '1024 100000 128 -1 0'],
    [podOf([{ requests: half }]), '512 -1 -1 -1 0'],
    [podOf([full, { requests: half }]), '1024 -1 -1 -1 0'],
    [podOf([full, { limits: { memory: '32Mi' } }]), '512 -1 96 -1 0'],
    [podOf([full], { initContainers: [{ name: 'init' }] }), '512 -1 -1 -1 0'],
    [podOf([{}], { resources: { limits: half, requests: half } }), '512 50000 64 -1 0'],
    [podOf([{ requests: half }], { resources: { limits: { cpu: '2' } } }), '512 200000 -1 -1 0'],
    [podOf([full], { overhead: { cpu: '250m', memory: '16Mi' } }), '768 75000 80 -1 0'],
    [
      podOf([{ requests: { 'cpu': '1', 'hugepages-2Mi': '4Mi' }, limits: { 'hugepages-2Mi': '4Mi' } }]),
      '1024 -1 -1 -1 4',
    ],
  ]
  for (const [pod, expected] of cases) {
    assert.equal(notation(podLimits(pod, context)), expected, JSON.stringify(pod.spec))
  }
  assert.equal(notation(podLimits(podOf([{}]), { ...context, podPidsMax: 64 })), '2 . . 64 0')
})

test('the Burstable cgroup gets the shares of all its pods', () => {
  const asks = (cpu: string): Pod => podOf([{ requests: { cpu } }])
  const exact = { cpu: '4', memory: '1Gi' }
  assert.equal(burstableShares([]), 2)
  assert.equal(
    burstableShares([asks('1'), asks('500m'), podOf([{}]), podOf([{ requests: exact, limits: exact }])]),
    1536,
  )
})

test('limits are written in the format of the cgroup version', () => {
  const all = {
    cpuShares: 1024,
    cpuQuota: 50_000,
    memoryBytes: 4096,
    pids: 64,
    hugePages: new Map([['2MB', 0]]),
  }
  const none = { cpuShares: 2, cpuQuota: -1, memoryBytes: -1, pids: -1 }
  const written = (version: 1 | 2, limits: CgroupLimits): readonly string[] => {
    return cgroupWrites(version, limits).map(
      ({ controller, file, value }) => `${controller}: ${file}=${value}`,
    )
  }
  assert.deepEqual(written(1, all), [
    'cpu: cpu.shares=1024',
    'cpu: cpu.cfs_period_us=100000',
    'cpu: cpu.cfs_quota_us=50000',
    'memory: memory.limit_in_bytes=4096',
    'pids: pids.max=64',
    'hugetlb: hugetlb.2MB.limit_in_bytes=0',
  ])
  assert.deepEqual(written(2, all), [
    'cpu: cpu.weight=39',
    'cpu: cpu.max=50000 100000',
    'memory: memory.max=4096',
    'pids: pids.max=64',
    'hugetlb: hugetlb.2MB.max=0',
  ])
  assert.deepEqual(written(1, none), [
    'cpu: cpu.shares=2',
    'cpu: cpu.cfs_period_us=100000',
    'cpu: cpu.cfs_quota_us=-1',
    'memory: memory.limit_in_bytes=-1',
    'pids: pids.max=max',
  ])
  assert.deepEqual(written(2, none), [
    'cpu: cpu.weight=1',
    'cpu: cpu.max=max 100000',
    'memory: memory.max=max',
    'pids: pids.max=max',
  ])
  assert.deepEqual(written(2, { cpuShares: 262_144 }), ['cpu: cpu.weight=10000'])
  assert.deepEqual(written(1, {}), [])
})
