import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Container, ContainerStatus, Node, Pod } from '#/api/generated/core/v1.ts'
import { podInfoOf } from '../pod-info.ts'
import { nodeOf, podOf, stored } from '../test-cluster.ts'
import { nodeResourcesBalancedAllocation } from './node-resources-balanced-allocation.ts'
import { nodeResourcesFit } from './node-resources-fit.ts'
import { isRequeuedBy, pluginOf, statusesOf, scoresOf, snapshotOf } from './test-plugin.ts'
import { startPluginWorld } from './test-world.ts'

const { handle } = await startPluginWorld()
const plugin = nodeResourcesFit(handle, {})

/** Parses `cpu=1,memory=1Gi,gpu=2`. */
function tableOf(text: string): Readonly<Record<string, string>> {
  const pairs = text.split(',').filter(pair => pair !== '')
  return Object.fromEntries(
    pairs.map(pair => {
      const [name = '', amount = ''] = pair.split('=')
      return [name === 'gpu' ? 'example.com/gpu' : name, amount]
    }),
  )
}

/**
 * `cpu=1 cpu=2 +cpu=1 -cpu=4 ^cpu=8 *cpu=6 ~cpu=1`: two containers, a sidecar, an init container, pod-level
 * requests, allocated resources and overhead; `!` marks an infeasible resize.
 */
function podWith(text: string, node = ''): Pod {
  const parts = text.split(' ').filter(part => part !== '')
  const of = (sign: string): readonly string[] => {
    return parts.filter(part => /^\W/.exec(part)?.[0] === sign).map(part => part.slice(1))
  }
  const container = (list: string, name: string): Container => ({
    name,
    resources: { requests: tableOf(list) },
  })
  const own = parts.filter(part => /^\w/.test(part))
  const init = parts.filter(part => part.startsWith('+') || part.startsWith('-'))
  const given = of('*').map((list, index): ContainerStatus => {
    const allocatedResources = tableOf(list)
    return {
      name: `c${index}`,
      image: '',
      imageID: '',
      ready: true,
      restartCount: 0,
      allocatedResources,
      resources: { requests: allocatedResources },
    }
  })
  const pod = podOf('p', {
    uid: `${node}${text}`,
    containers: (own.length === 0 ? [''] : own).map((list, index) => container(list, `c${index}`)),
    initContainers: init.map((part, index) => ({
      ...container(part.slice(1), `i${index}`),
      ...(part.startsWith('+') && { restartPolicy: 'Always' }),
    })),
    ...(of('^')[0] !== undefined && { resources: { requests: tableOf(of('^')[0]!) } }),
    ...(of('~')[0] !== undefined && { overhead: tableOf(of('~')[0]!) }),
    ...(node && { nodeName: node }),
  })
  const isInfeasible = parts.includes('!')
  return {
    ...pod,
    status: {
      ...(given.length > 0 && { containerStatuses: given }),
      ...(isInfeasible && {
        conditions: [{ type: 'PodResizePending', status: 'True', reason: 'Infeasible' }],
      }),
    },
  }
}

function nodeWith(name: string, text: string): Node {
  const node = nodeOf(name)
  const table = { pods: '10', ...tableOf(text) }
  return { ...node, status: { allocatable: table, capacity: table } }
}

/** Requests of a pod, in millicores and bytes. */
const requests: readonly (readonly [
  string,
  Partial<Record<'cpu' | 'memory' | 'gpu' | 'hugepages-2Mi', number>>,
])[] = [
  ['', {}],
  ['cpu=1,memory=1Ki cpu=500m', { cpu: 1_500, memory: 1_024 }],
  // Init containers run sequentially before the others.
  ['cpu=1 -cpu=3 -cpu=2', { cpu: 3_000 }],
  ['cpu=1 -cpu=500m', { cpu: 1_000 }],
  // Sidecars run alongside all later containers.
  ['cpu=1 +cpu=1', { cpu: 2_000 }],
  ['cpu=1 +cpu=1 -cpu=3', { cpu: 4_000 }],
  ['cpu=1 -cpu=3 +cpu=1', { cpu: 3_000 }],
  ['cpu=1 +cpu=1 -cpu=1500m +cpu=1', { cpu: 3_000 }],
  ['cpu=1 ~cpu=100m,memory=1Ki', { cpu: 1_100, memory: 1_024 }],
  ['cpu=1 -cpu=3 ~cpu=100m', { cpu: 3_100 }],
  ['gpu=2 gpu=1', { gpu: 3 }],
  // Pod-level requests replace those of the containers.
  ['cpu=1 cpu=1 ^cpu=5', { cpu: 5_000 }],
  ['cpu=1,memory=1Ki ^cpu=500m', { cpu: 500, memory: 1_024 }],
  ['cpu=1,gpu=1 ^cpu=5,hugepages-2Mi=4Mi', { 'cpu': 5_000, 'gpu': 1, 'hugepages-2Mi': 4_194_304 }],
  ['cpu=1 ^cpu=5 ~cpu=1', { cpu: 6_000 }],
  // During a resize the maximum of allocated and desired resources counts.
  ['cpu=1 *cpu=3', { cpu: 3_000 }],
  ['cpu=4 *cpu=3', { cpu: 4_000 }],
  ['cpu=4 cpu=1 *cpu=1 *cpu=2', { cpu: 6_000 }],
  // An infeasible resize does not count.
  ['cpu=8 *cpu=3 !', { cpu: 3_000 }],
  ['cpu=8 !', { cpu: 8_000 }],
]

for (const [text, want] of requests) {
  test(`requests of a pod with ${text || 'nothing'}`, () => {
    const { cpu, memory, scalarResources } = podInfoOf(stored(podWith(text))).requests
    const { gpu, 'hugepages-2Mi': pages, ...basic } = want
    assert.deepEqual({ cpu, memory }, { cpu: 0, memory: 0, ...basic })
    assert.equal(scalarResources.get('example.com/gpu'), gpu)
    assert.equal(scalarResources.get('hugepages-2Mi'), pages)
  })
}

/** In tenths of CPUs and units of 100 MB. */
const nonZeroRequests: readonly (readonly [string, readonly [cpu: number, memory: number]])[] = [
  ['', [1, 2]],
  ['cpu=1', [10, 2]],
  ['cpu=0,memory=0', [0, 0]],
  ['memory=100Mi cpu=1', [11, 3]],
  ['cpu=50m,memory=1 -', [1, 2]],
  ['cpu=1,memory=200Mi +', [11, 4]],
  ['cpu=1 ^cpu=4', [40, 2]],
]

for (const [text, [cpu, memory]] of nonZeroRequests) {
  test(`non-zero requests of a pod with ${text || 'nothing'}`, () => {
    const { nonZeroRequests } = podInfoOf(stored(podWith(text)))
    assert.deepEqual(
      [nonZeroRequests.cpu / 100, Math.round(nonZeroRequests.memory / (100 * 1024 * 1024))],
      [cpu, memory],
    )
  })
}

const fits: readonly (readonly [pod: string, node: string, placed: readonly string[], expected: string])[] = [
  ['cpu=1', 'cpu=1', [], ''],
  ['cpu=1001m', 'cpu=1', [], 'Insufficient cpu!'],
  ['cpu=1', 'cpu=2', ['cpu=1'], ''],
  ['cpu=1', 'cpu=2', ['cpu=1', 'cpu=500m'], 'Insufficient cpu'],
  ['cpu=2,memory=2', 'cpu=2,memory=1', ['cpu=1'], 'Insufficient cpu, Insufficient memory!'],
  ['ephemeral-storage=2', 'ephemeral-storage=3', ['ephemeral-storage=2'], 'Insufficient ephemeral-storage'],
  ['gpu=1', 'cpu=1', [], 'Insufficient example.com/gpu!'],
  ['gpu=1', 'gpu=2', ['gpu=2'], 'Insufficient example.com/gpu'],
  ['gpu=0', 'cpu=1', [], ''],
  ['hugepages-2Mi=2Mi', 'hugepages-2Mi=4Mi', ['hugepages-2Mi=4Mi'], 'Insufficient hugepages-2Mi'],
  // A pod without requests fits a full node, except for the pod limit.
  ['', 'cpu=1', ['cpu=1'], ''],
  ['', 'pods=1', [''], 'Too many pods'],
  ['cpu=1', 'pods=0', [], 'Too many pods, Insufficient cpu!'],
  ['cpu=1', 'cpu=4', ['cpu=1 *cpu=4'], 'Insufficient cpu'],
  ['cpu=1', 'cpu=4', ['cpu=8 *cpu=3 !'], ''],
]

for (const [pod, node, placed, expected] of fits) {
  test(`a pod with ${pod || 'no requests'} on a node with ${node} and pods ${JSON.stringify(placed)}`, () => {
    const snapshot = snapshotOf(
      [nodeWith('n', node)],
      placed.map((text, index) => {
        const made = podWith(text, 'n')
        return { ...made, metadata: { ...made.metadata, uid: `u${index}` } }
      }),
    )
    assert.deepEqual(statusesOf(plugin, podWith(pod), snapshot), { n: expected })
  })
}

test('ignored resources are not checked', () => {
  const snapshot = snapshotOf([nodeWith('n', 'cpu=1')])
  const by = (args: object): unknown =>
    statusesOf(nodeResourcesFit(handle, { ...args }), podWith('gpu=1'), snapshot)
  assert.deepEqual(by({ ignoredResources: ['example.com/gpu'] }), { n: '' })
  assert.deepEqual(by({ ignoredResourceGroups: ['example.com'] }), { n: '' })
  assert.deepEqual(by({ ignoredResourceGroups: ['example.org'] }), { n: 'Insufficient example.com/gpu!' })
})

const ratio = (...shape: readonly (readonly [number, number])[]): object => ({
  type: 'RequestedToCapacityRatio',
  requestedToCapacityRatio: { shape: shape.map(([utilization, score]) => ({ utilization, score })) },
})
const full = 'memory=1Gi'

const scores: readonly (readonly [
  strategy: object,
  pod: string,
  node: string,
  placed: string,
  want: number,
])[] = [
  [{}, `cpu=1,${full}`, 'cpu=4,memory=4Gi', '', 75],
  [{}, `cpu=1,${full}`, 'cpu=4,memory=4Gi', `cpu=1,${full}`, 50],
  [{}, `cpu=3,${full}`, 'cpu=4,memory=4Gi', '', 50],
  // A pod without requests counts with non-zero requests.
  [{}, '', 'cpu=1,memory=2000Mi', '', 90],
  [{}, `cpu=5,${full}`, 'cpu=4,memory=4Gi', '', 37],
  [{}, 'cpu=1', 'cpu=4', '', 75],
  [{ type: 'MostAllocated' }, `cpu=1,${full}`, 'cpu=4,memory=4Gi', '', 25],
  [{ type: 'MostAllocated' }, `cpu=5,${full}`, 'cpu=4,memory=4Gi', '', 62],
  [
    { resources: [{ name: 'cpu', weight: 3 }, { name: 'memory' }] },
    `cpu=1,${full}`,
    'cpu=2,memory=4Gi',
    '',
    56,
  ],
  // An extended resource that the pod does not request is ignored.
  [{ resources: [{ name: 'cpu' }, { name: 'example.com/gpu' }] }, 'cpu=1', 'cpu=4,gpu=4', 'gpu=4', 72],
  [{ resources: [{ name: 'cpu' }, { name: 'example.com/gpu' }] }, 'cpu=1,gpu=1', 'cpu=4,gpu=4', '', 75],
  [
    { resources: [{ name: 'ephemeral-storage' }] },
    'cpu=1',
    'cpu=4,ephemeral-storage=4',
    'ephemeral-storage=1',
    75,
  ],
  [ratio([0, 0], [100, 10]), `cpu=1,${full}`, 'cpu=4,memory=4Gi', '', 25],
  [ratio([0, 10], [100, 0]), `cpu=1,${full}`, 'cpu=4,memory=4Gi', '', 75],
  [ratio([0, 10], [70, 0]), 'cpu=33m,memory=33', 'cpu=100m,memory=100', '', 53],
  // Resources with score 0 are skipped, and the average is rounded.
  [ratio([50, 0], [100, 10]), `cpu=3,${full}`, 'cpu=4,memory=4Gi', '', 50],
  [ratio([0, 0], [100, 10]), 'cpu=1,memory=2Gi', 'cpu=4,memory=3Gi', '', 46],
]

for (const [strategy, pod, node, placed, want] of scores) {
  test(`the score with ${JSON.stringify(strategy)} of ${pod} on ${node} with pods ${placed || 'none'}`, () => {
    const scoring = nodeResourcesFit(handle, { scoringStrategy: strategy })
    const snapshot = snapshotOf([nodeWith('n', node)], placed === '' ? [] : [podWith(placed, 'n')])
    assert.deepEqual(scoresOf(scoring, podWith(pod), snapshot), { n: want })
  })
}

const balances: readonly (readonly [
  resources: string,
  pod: string,
  node: string,
  placed: string,
  want: number | undefined,
])[] = [
  ['cpu memory', '', 'cpu=4,memory=4', '', undefined],
  ['cpu memory', 'cpu=1,memory=1', 'cpu=4,memory=4', '', 75],
  // From equal utilization to a quarter more of one resource: 100 becomes 87.
  ['cpu memory', 'cpu=1', 'cpu=4,memory=4', '', 68],
  // From unbalanced to balanced.
  ['cpu memory', 'cpu=2', 'cpu=4,memory=4', 'memory=2', 87],
  ['cpu memory', 'cpu=8', 'cpu=4,memory=4', '', 50],
  ['cpu memory', 'cpu=1', 'cpu=4', '', 75],
  ['cpu memory example.com/gpu', 'cpu=1,memory=1', 'cpu=4,memory=4,gpu=4', 'gpu=4', 75],
  ['cpu memory example.com/gpu', 'cpu=1,memory=1,gpu=1', 'cpu=4,memory=4,gpu=4', '', 75],
  ['cpu memory example.com/gpu', 'gpu=4', 'cpu=4,memory=4,gpu=4', '', 51],
]

for (const [resources, pod, node, placed, want] of balances) {
  test(`balance of ${resources} with ${pod || 'no requests'} on ${node} with pods ${placed || 'none'}`, () => {
    const balancing = pluginOf(nodeResourcesBalancedAllocation, {
      resources: resources.split(' ').map(name => ({ name })),
    })
    const snapshot = snapshotOf([nodeWith('n', node)], placed === '' ? [] : [podWith(placed, 'n')])
    assert.deepEqual(scoresOf(balancing, podWith(pod), snapshot)?.['n'], want)
  })
}

test('NodeResourcesFit: events that release requested resources requeue a pod', () => {
  const pod = podWith('cpu=2')
  const isRequeued = (
    kind: 'nodes' | 'pods',
    before: string | undefined,
    after: string | undefined,
  ): boolean => {
    const make =
      kind === 'nodes' ? (text: string) => nodeWith('n', text) : (text: string) => podWith(text, 'n')
    return isRequeuedBy(plugin, pod, kind, {
      ...(before !== undefined && { before: make(before) }),
      ...(after !== undefined && { after: make(after) }),
    })
  }
  assert.ok(isRequeued('nodes', undefined, 'cpu=2'))
  assert.ok(!isRequeued('nodes', undefined, 'cpu=1'))
  assert.ok(isRequeued('nodes', 'cpu=1', 'cpu=2'))
  assert.ok(!isRequeued('nodes', 'cpu=2', 'cpu=2,memory=5'))
  assert.ok(isRequeued('nodes', 'cpu=2,pods=1', 'cpu=2,pods=2'))
  assert.ok(isRequeued('pods', 'cpu=1', undefined))
  assert.ok(isRequeued('pods', 'cpu=2', 'cpu=1'))
  assert.ok(!isRequeued('pods', 'cpu=2,memory=2', 'cpu=2,memory=1'))
  assert.ok(!isRequeued('pods', 'cpu=2 *cpu=4', 'cpu=1 *cpu=4'))
  assert.ok(isRequeued('pods', 'cpu=1 *cpu=4', 'cpu=1 *cpu=1'))
})
