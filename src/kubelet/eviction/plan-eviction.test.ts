import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kubeletPod } from '../testdata/objects.ts'
import {
  planEviction,
  type EvictionCandidate,
  type EvictionInput,
  type EvictionPlan,
} from './plan-eviction.ts'
import type { PodUsage } from './pod-usage.ts'
import type { EvictionSignal, Threshold } from './thresholds.ts'

const mebi = 1024 ** 2

/** Amounts in mebibytes. */
interface Case {
  readonly memory?: number
  readonly layer?: number
  readonly logs?: number
  readonly volume?: number
  readonly inodes?: number
  readonly processes?: number
  readonly requests?: Readonly<Record<string, string>>
  readonly podRequests?: Readonly<Record<string, string>>
  readonly priority?: number
  readonly grace?: number
  readonly isStatic?: boolean
  readonly isUnknown?: boolean
}

function candidateOf(name: string, given: Case): EvictionCandidate {
  const pod = kubeletPod({
    metadata: { name, uid: name },
    spec: {
      containers: [{ name: 'c', ...(given.requests && { resources: { requests: given.requests } }) }],
      ...(given.podRequests && { resources: { requests: given.podRequests } }),
      ...(given.priority !== undefined && { priority: given.priority }),
      ...(given.grace !== undefined && { terminationGracePeriodSeconds: given.grace }),
    },
  })
  return { pod, isStatic: given.isStatic ?? false, usage: given.isUnknown ? undefined : usageOf(given) }
}

function usageOf({ memory = 0, layer = 0, logs = 0, volume = 0, inodes = 0, processes = 0 }: Case): PodUsage {
  const writableLayer = { bytes: layer * mebi, inodes }
  return {
    containers: [
      { name: 'c', memoryBytes: memory * mebi, writableLayer, logs: { bytes: logs * mebi, inodes: 0 } },
    ],
    volumes: [{ name: 'v', bytes: volume * mebi, inodes: 0 }],
    processes,
    isComplete: true,
  }
}

const observations = {
  'memory.available': { available: 50 * mebi, capacity: 1_000 * mebi },
  'nodefs.available': { available: 50 * mebi, capacity: 1_000 * mebi },
  'imagefs.available': { available: 50 * mebi, capacity: 1_000 * mebi },
  'nodefs.inodesFree': { available: 40, capacity: 1_000 },
  'pid.available': { available: 90, capacity: 1_000 },
}

function plan(
  threshold: Partial<Threshold> & { readonly signal: EvictionSignal },
  cases: Readonly<Record<string, Case>>,
  more: Partial<EvictionInput<EvictionCandidate>> = {},
): EvictionPlan<EvictionCandidate> | undefined {
  return planEviction({
    starved: [{ value: '100Mi', graceMs: 0, ...threshold }],
    observations,
    hasDedicatedImageFs: false,
    candidates: Object.entries(cases).map(([name, given]) => candidateOf(name, given)),
    maxPodGraceSeconds: 0,
    ...more,
  })
}

/** The pods in the order in which they are evicted. */
function order(
  signal: EvictionSignal,
  cases: Readonly<Record<string, Case>>,
  more: Partial<EvictionInput<EvictionCandidate>> = {},
): string {
  const left = { ...cases }
  const evicted: string[] = []
  for (;;) {
    const name = plan({ signal }, left, more)?.candidate.pod.metadata.name
    if (name === undefined) return evicted.join(' ')
    evicted.push(name)
    delete left[name]
  }
}

test('pods are ranked by use above their requests, then by priority, then by how much they exceed them', () => {
  const requests = { memory: '100Mi' }
  const cases: Readonly<Record<string, Case>> = {
    within: { memory: 99, requests, priority: -10 },
    important: { memory: 500, requests, priority: 1_000 },
    little: { memory: 101, requests },
    much: { memory: 300, requests },
    bestEffort: { memory: 201 },
  }
  assert.equal(order('memory.available', cases), 'bestEffort much little important within')
  assert.equal(order('allocatableMemory.available', cases), 'bestEffort much little important within')
})

test('critical and static pods are not evicted, and pods without measurement first', () => {
  const cases: Readonly<Record<string, Case>> = {
    static: { memory: 900, isStatic: true },
    critical: { memory: 900, priority: 2_000_000_000 },
    usual: { memory: 900 },
    unknown: { isUnknown: true, priority: 5 },
  }
  assert.equal(order('memory.available', cases), 'unknown usual')
  assert.equal(order('memory.available', { static: { isStatic: true } }), '')
})

test('disk pressure counts what is on the filesystem', () => {
  const cases: Readonly<Record<string, Case>> = {
    layer: { layer: 50, logs: 1 },
    logs: { logs: 40 },
    volume: { volume: 30 },
    both: { logs: 20, volume: 25, layer: 0 },
  }
  assert.equal(order('nodefs.available', cases), 'layer both logs volume')
  assert.equal(order('imagefs.available', cases), 'layer both logs volume')
  const dedicated = { hasDedicatedImageFs: true }
  assert.equal(order('nodefs.available', cases, dedicated), 'both logs volume layer')
  assert.equal(order('imagefs.available', { a: { logs: 90 }, b: { layer: 1 } }, dedicated), 'b a')
  const requests = { 'ephemeral-storage': '1Gi' }
  assert.equal(
    order('nodefs.available', { large: { layer: 90, requests }, small: { layer: 2 } }),
    'small large',
  )
  assert.equal(order('nodefs.inodesFree', { few: { layer: 90, inodes: 1 }, many: { inodes: 9 } }), 'many few')
})

test('PID pressure ranks by priority, then by processes', () => {
  const cases = { few: { processes: 5 }, many: { processes: 50 }, low: { processes: 2, priority: -1 } }
  assert.equal(order('pid.available', cases), 'low many few')
})

test('the message names the resource, the threshold and the containers above their request', () => {
  const cases: readonly (readonly [Parameters<typeof plan>[0], Case, string])[] = [
    [
      { signal: 'memory.available' },
      { memory: 200 },
      'The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. ' +
        'Container c was using 200Mi, request is 0, has larger consumption of memory. ',
    ],
    [
      { signal: 'memory.available' },
      { memory: 200, requests: { memory: '300Mi' } },
      'The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. ',
    ],
    [
      { signal: 'memory.available' },
      { memory: 200, requests: { memory: '300Mi' }, podRequests: { memory: '150Mi' } },
      'The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. ' +
        'Pod p was using 200Mi, request is 150Mi, has larger consumption of memory. ',
    ],
    [
      { signal: 'nodefs.available', value: '10%' },
      { layer: 2, logs: 1 },
      'The node was low on resource: ephemeral-storage. Threshold quantity: 100Mi, available: 50Mi. ' +
        'Container c was using 3Mi, request is 0, has larger consumption of ephemeral-storage. ',
    ],
    [
      { signal: 'nodefs.inodesFree', value: '5%' },
      { inodes: 3 },
      'The node was low on resource: inodes. Threshold quantity: 50, available: 40. ',
    ],
    [
      { signal: 'pid.available', value: '100' },
      {},
      'The node was low on resource: pids. Threshold quantity: 100, available: 90. ',
    ],
    [
      { signal: 'imagefs.inodesFree', value: '5%' },
      { isUnknown: true },
      'The node was low on resource: inodes. ',
    ],
  ]
  for (const [threshold, given, expected] of cases)
    assert.equal(plan(threshold, { p: given })?.message, expected)
  assert.deepEqual(plan({ signal: 'memory.available' }, { p: { memory: 200 } })?.annotations, {
    offending_containers: 'c',
    offending_containers_usage: '200Mi',
    starved_resource: 'memory',
  })
})

test('a soft threshold gives the grace period of the pod, up to the maximum', () => {
  const cases: readonly (readonly [number, number | undefined, number, number])[] = [
    [0, 30, 60, 1],
    [1_000, 30, 60, 30],
    [1_000, 90, 60, 60],
    [1_000, undefined, 60, 60],
    [1_000, 30, 0, 0],
  ]
  for (const [graceMs, grace, maxPodGraceSeconds, expected] of cases) {
    const found = plan(
      { signal: 'memory.available', graceMs },
      { p: grace === undefined ? {} : { grace } },
      { maxPodGraceSeconds },
    )
    assert.equal(found?.graceSeconds, expected)
  }
})
