import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Node, Pod } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { SchedulerCache } from './scheduler-cache.ts'
import { podInfoOf } from './pod-info.ts'
import type { Snapshot } from './snapshot.ts'
import { nodeOf, podOf, stored } from './test-cluster.ts'

const onNode = (pod: Stored<Pod>, nodeName: string): Stored<Pod> => ({
  ...pod,
  spec: { ...pod.spec!, nodeName },
})
const ended = (pod: Stored<Pod>): Stored<Pod> => ({ ...pod, status: { phase: 'Succeeded' } })

/** The pods on each node, by node name. */
function placesIn({ nodes }: Snapshot): Readonly<Record<string, string>> {
  return Object.fromEntries(
    nodes.map(({ name, pods }) => [name, pods.map(({ pod }) => pod.metadata.name).join(' ')]),
  )
}

function podNamed(name: string): Stored<Pod> {
  return stored(podOf(name, { uid: name, cpu: '1' }))
}

test('an assumed pod counts on its node until the informer has it or it is forgotten', () => {
  const cache = new SchedulerCache()
  cache.setNode(stored(nodeOf('a')))
  cache.setNode(stored(nodeOf('b')))
  cache.assume(podInfoOf(podNamed('p')), 'a')
  assert.deepEqual(placesIn(cache.snapshot()), { a: 'p', b: '' })
  assert.ok(cache.isAssumed('p'))
  cache.setPod(onNode(podNamed('p'), 'b'))
  assert.deepEqual(placesIn(cache.snapshot()), { a: '', b: 'p' })
  assert.ok(!cache.isAssumed('p'))
  cache.forget('p')
  assert.equal(cache.nodeOf('p'), 'b')
  cache.assume(podInfoOf(podNamed('q')), 'a')
  cache.forget('q')
  assert.deepEqual(placesIn(cache.snapshot()), { a: '', b: 'p' })
  cache.setPod(ended(onNode(podNamed('p'), 'b')))
  assert.deepEqual(placesIn(cache.snapshot()), { a: '', b: '' })
})

test('pods of nodes that are added later or again are kept', () => {
  const cache = new SchedulerCache()
  cache.setPod(onNode(podNamed('p'), 'a'))
  assert.deepEqual(placesIn(cache.snapshot()), {})
  cache.setNode(stored(nodeOf('a')))
  assert.deepEqual(placesIn(cache.snapshot()), { a: 'p' })
  cache.removeNode('a')
  cache.setPod(onNode(podNamed('q'), 'a'))
  cache.removePod(podNamed('p'))
  assert.deepEqual(placesIn(cache.snapshot()), {})
  cache.setNode(stored(nodeOf('a')))
  assert.deepEqual(placesIn(cache.snapshot()), { a: 'q' })
})

test('a snapshot is immutable, and the next one shares what is unchanged', () => {
  const cache = new SchedulerCache()
  for (const name of ['a', 'b']) cache.setNode(stored(nodeOf(name)))
  const before = cache.snapshot()
  assert.equal(cache.snapshot(), before)
  cache.assume(podInfoOf(podNamed('p')), 'a')
  const after = cache.snapshot()
  assert.deepEqual(placesIn(before), { a: '', b: '' })
  assert.deepEqual(placesIn(after), { a: 'p', b: '' })
  assert.equal(before.get('b'), after.get('b'))
  assert.ok(after.generation > before.generation)
})

test('nodes are ordered round-robin over the zones', () => {
  const cache = new SchedulerCache()
  const zones = { a: '1', b: '1', c: '1', d: '2', e: '3', f: '3' }
  for (const [name, zone] of Object.entries(zones))
    cache.setNode(stored(nodeOf(name, { labels: { 'topology.kubernetes.io/zone': zone } })))
  const order = (): string =>
    cache
      .snapshot()
      .nodes.map(({ name }) => name)
      .join('')
  assert.equal(order(), 'adebfc')
  cache.setNode(stored(nodeOf('a', { labels: { 'topology.kubernetes.io/zone': '2' } })))
  assert.equal(order().length, 6)
  assert.equal(new Set(order().slice(0, 3)).size, 3)
})

type Step =
  | {
      readonly type: 'setNode'
      readonly node: string
      readonly zone: number
      readonly images: readonly number[]
    }
  | { readonly type: 'removeNode'; readonly node: string }
  | { readonly type: 'setPod' | 'assume'; readonly pod: string; readonly node: string; readonly kind: number }
  | { readonly type: 'removePod' | 'forget' | 'end'; readonly pod: string }
  | { readonly type: 'snapshot' }

const nodeNames = fc.constantFrom('a', 'b', 'c')
const podNames = fc.constantFrom('p', 'q', 'r', 's')

const steps = fc.oneof(
  fc.record({
    type: fc.constant('setNode'),
    node: nodeNames,
    zone: fc.nat(1),
    images: fc.uniqueArray(fc.nat(3), { maxLength: 2 }),
  }),
  fc.record({ type: fc.constant('removeNode'), node: nodeNames }),
  fc.record({ type: fc.constantFrom('setPod', 'assume'), pod: podNames, node: nodeNames, kind: fc.nat(3) }),
  fc.record({ type: fc.constantFrom('removePod', 'forget', 'end'), pod: podNames }),
  fc.record({ type: fc.constant('snapshot') }),
) as fc.Arbitrary<Step>

/** Pods without constraints, with host ports, and with affinity. */
function podOfKind(name: string, kind: number): Stored<Pod> {
  const term = { topologyKey: 'zone', labelSelector: {} }
  const affinity =
    kind === 2
      ? {
          podAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: term }],
          },
        }
      : { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } }
  const pod = podOf(name, {
    uid: name,
    cpu: `${kind + 1}`,
    ...(kind === 1 && { others: { 'example.com/gpu': '2' } }),
    ...(kind > 1 && { affinity }),
    ...(kind === 1 && { containers: [{ name: 'c', ports: [{ containerPort: 1, hostPort: 80 }] }] }),
  })
  return stored(pod)
}

function nodeWith({ node, zone, images }: Extract<Step, { type: 'setNode' }>): Stored<Node> {
  const made = nodeOf(node, { labels: { 'topology.kubernetes.io/zone': `${zone}` } })
  const list = images.map(image => ({ names: [`i${image}`, `r/i${image}`], sizeBytes: image * 1_000 }))
  return stored({ ...made, status: { ...made.status, images: list } })
}

/** Expected state after all steps, computed by simple rules. */
interface World {
  readonly nodes: Map<string, Stored<Node>>
  readonly pods: Map<
    string,
    { readonly pod: Stored<Pod>; readonly node: string; readonly isAssumed: boolean }
  >
}

function perform(step: Step, cache: SchedulerCache, { nodes, pods }: World): void {
  switch (step.type) {
    case 'setNode': {
      const node = nodeWith(step)
      nodes.set(step.node, node)
      return cache.setNode(node)
    }
    case 'removeNode':
      nodes.delete(step.node)
      return cache.removeNode(step.node)
    case 'setPod': {
      const pod = onNode(podOfKind(step.pod, step.kind), step.node)
      pods.set(step.pod, { pod, node: step.node, isAssumed: false })
      return cache.setPod(pod)
    }
    case 'assume': {
      const pod = podOfKind(step.pod, step.kind)
      pods.set(step.pod, { pod, node: step.node, isAssumed: true })
      return cache.assume(podInfoOf(pod), step.node)
    }
    case 'forget':
      if (pods.get(step.pod)?.isAssumed) pods.delete(step.pod)
      return cache.forget(step.pod)
    case 'removePod':
      pods.delete(step.pod)
      return cache.removePod(podNamed(step.pod))
    case 'end':
      pods.delete(step.pod)
      return cache.setPod(ended(onNode(podNamed(step.pod), 'a')))
    case 'snapshot':
      return void cache.snapshot()
  }
}

/** The content of a snapshot in a canonical order. */
function contentOf(snapshot: Snapshot): unknown {
  const byUid = (pods: readonly { readonly uid: string }[]): readonly string[] =>
    pods.map(({ uid }) => uid).toSorted()
  return {
    nodes: snapshot.nodes
      .map(info => ({
        node: info.node,
        labels: info.labels,
        pods: byUid(info.pods),
        kinds: new Map(info.pods.map(({ uid, pod }) => [uid, pod])),
        podsWithAffinity: byUid(info.podsWithAffinity),
        podsWithRequiredAntiAffinity: byUid(info.podsWithRequiredAntiAffinity),
        podsWithPorts: byUid(info.podsWithPorts),
        allocatable: info.allocatable,
        requested: { ...info.requested, scalarResources: withoutZeros(info.requested.scalarResources) },
        nonZeroRequested: {
          ...info.nonZeroRequested,
          scalarResources: withoutZeros(info.nonZeroRequested.scalarResources),
        },
      }))
      .toSorted((left, right) => (left.node.metadata.name < right.node.metadata.name ? -1 : 1)),
    places: snapshot.nodes.map(({ name }, index) => snapshot.positions.get(name) === index),
    nodesWithAffinity: snapshot.nodesWithAffinity,
    nodesWithRequiredAntiAffinity: snapshot.nodesWithRequiredAntiAffinity,
    images: snapshot.images,
  }
}

function withoutZeros(amounts: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  return new Map([...amounts].filter(([, amount]) => amount !== 0))
}

test('property: an incremental snapshot equals one built from scratch', () => {
  fc.assert(
    fc.property(fc.array(steps, { maxLength: 40 }), script => {
      const cache = new SchedulerCache()
      const world: World = { nodes: new Map(), pods: new Map() }
      for (const step of script) perform(step, cache, world)
      const fresh = new SchedulerCache()
      for (const node of world.nodes.values()) fresh.setNode(node)
      for (const { pod, node } of world.pods.values()) fresh.assume(podInfoOf(pod), node)
      assert.deepEqual(contentOf(cache.snapshot()), contentOf(fresh.snapshot()))
    }),
    { numRuns: 500 },
  )
})
