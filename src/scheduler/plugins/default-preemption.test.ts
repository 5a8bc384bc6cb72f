import assert from 'node:assert/strict'
import { test } from 'node:test'
import { internalError } from '#/api/errors.ts'
import { events, pods } from '#/api/generated/core/v1-resources.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { podDisruptionBudgets } from '#/api/generated/policy/v1-resources.ts'
import { isBeingDeleted } from '#/api/metadata.ts'
import { podInfoOf } from '../pod-info.ts'
import {
  nodeOf,
  podOf,
  startTestCluster,
  stored,
  type PodParts,
  type TestCluster,
  type TestClusterOptions,
} from '../test-cluster.ts'
import { prepareCandidate } from './default-preemption/prepare-candidate.ts'
import { defaultPreemption } from './default-preemption.ts'

type TestOf = Parameters<typeof startTestCluster>[0]

const low: PodParts = { priority: 1, cpu: '3' }
const high: PodParts = { priority: 100, cpu: '3' }

/** A cluster with nodes of four CPUs and pods of low priority on them: `{ n1: 'a' }`. */
async function startFull(t: TestOf, placed: Readonly<Record<string, string>>): Promise<TestCluster> {
  const cluster = await startTestCluster(t)
  await cluster.addNodes(...Object.keys(placed).map(name => nodeOf(name)))
  for (const [node, name] of Object.entries(placed)) {
    await cluster.addPods(podOf(name, { ...low, labels: { app: name }, nodeSelector: onNode(node) }))
  }
  return cluster
}

function onNode(node: string): Record<string, string> {
  return { 'kubernetes.io/hostname': node }
}

async function leaving(cluster: TestCluster): Promise<string> {
  const all = await cluster.list(pods, 'default')
  return all
    .filter(isBeingDeleted)
    .map(({ metadata }) => metadata.name)
    .join(' ')
}

function messageOf({ status }: Pod): string | undefined {
  return status?.conditions?.find(({ type }) => type === 'PodScheduled')?.message
}

test('a victim is deleted, and the preemptor is bound after it is gone', async t => {
  const cluster = await startFull(t, { n1: 'a', n2: 'b' })
  await cluster.addPods(podOf('high', { ...high, nodeSelector: onNode('n2') }))
  const victim = await cluster.getPod('b')
  assert.equal(await leaving(cluster), 'b')
  const target = victim.status?.conditions?.find(({ type }) => type === 'DisruptionTarget')
  assert.deepEqual(
    [target?.status, target?.reason, target?.message, target?.observedGeneration],
    [
      'True',
      'PreemptionByScheduler',
      'default-scheduler: preempting to accommodate a higher priority pod',
      1,
    ],
  )
  const pod = await cluster.getPod('high')
  assert.equal(pod.status?.nominatedNodeName, 'n2')
  assert.equal(
    messageOf(pod),
    "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match Pod's node affinity/selector.",
  )
  // The victim is preempted once, and the pod is not retried meanwhile.
  await cluster.advance(60_000)
  assert.equal((await cluster.getPod('high')).spec?.nodeName, undefined)
  const told = (await cluster.list(events, 'default')).filter(({ reason }) => reason === 'Preempted')
  assert.deepEqual(
    told.map(({ message, type, count, involvedObject }) => [message, type, count, involvedObject.name]),
    [[`Preempted by pod ${pod.metadata.uid} on node n2`, 'Normal', 1, 'b']],
  )
  await cluster.deletePod('b')
  assert.deepEqual(await cluster.places(), { a: 'n1', high: 'n2' })
})

test('without preemption candidates the message has the reasons', async t => {
  const cluster = await startFull(t, { n1: 'a', n2: 'b', n3: 'c' })
  await cluster.addNodes(nodeOf('n4', { cpu: '1' }), nodeOf('n5', { spec: { unschedulable: true } }))
  await cluster.addPods(podOf('same', low))
  assert.equal(
    messageOf(await cluster.getPod('same')),
    '0/5 nodes are available: 1 node(s) were unschedulable, 4 Insufficient cpu. no new claims to deallocate,' +
      ' preemption: 0/5 nodes are available: 2 Preemption is not helpful for scheduling, 3 No preemption victims' +
      ' found for incoming pod.',
  )
  assert.equal(await leaving(cluster), '')
})

test('a pod with preemptionPolicy Never does not preempt', async t => {
  const cluster = await startFull(t, { n1: 'a' })
  await cluster.addPods(podOf('polite', { ...high, preemptionPolicy: 'Never' }))
  assert.equal(await leaving(cluster), '')
  const pod = await cluster.getPod('polite')
  assert.equal(pod.status?.nominatedNodeName, undefined)
  assert.equal(
    messageOf(pod),
    '0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: not eligible due to' +
      ' preemptionPolicy=Never.',
  )
})

test('while victims terminate no other pod is preempted and the nomination is kept', async t => {
  const cluster = await startFull(t, { n1: 'a', n2: 'b' })
  await cluster.addPods(podOf('high', high))
  const [victim = ''] = (await leaving(cluster)).split(' ')
  const { nominatedNodeName } = (await cluster.getPod('high')).status ?? {}
  assert.ok(victim === 'a' || victim === 'b')
  // An event that causes a retry.
  await cluster.addNodes(nodeOf('n3', { cpu: '3', spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] } }))
  await cluster.change(pods, 'default/high', pod => ({
    ...pod,
    metadata: { ...pod.metadata, labels: { changed: 'yes' } },
  }))
  await cluster.advance(20_000)
  assert.equal(await leaving(cluster), victim)
  const pod = await cluster.getPod('high')
  assert.equal(pod.status?.nominatedNodeName, nominatedNodeName)
  assert.match(
    messageOf(pod) ?? '',
    /preemption: not eligible due to a terminating pod on the nominated node\.$/,
  )
  await cluster.deletePod(victim)
  await cluster.advance(20_000)
  assert.equal((await cluster.getPod('high')).spec?.nodeName, nominatedNodeName)
})

test('resources released by preemption are not used by pods of lower priority', async t => {
  const cluster = await startFull(t, { n1: 'a' })
  await cluster.addPods(podOf('high', high))
  await cluster.addPods(
    podOf('late', { priority: 100, cpu: '1' }),
    podOf('lesser', { priority: 50, cpu: '2' }),
  )
  assert.deepEqual(await cluster.places(), { a: 'n1', high: '', late: '', lesser: '' })
  await cluster.deletePod('a')
  await cluster.advance(20_000)
  // Four CPUs: the rest beside the first pod fits the second, but not the third.
  assert.deepEqual(await cluster.places(), { high: 'n1', late: 'n1', lesser: '' })
})

test('a pod of higher priority takes the node, and the other loses its nomination', async t => {
  const cluster = await startFull(t, { n1: 'a' })
  await cluster.addPods(podOf('high', high))
  assert.equal((await cluster.getPod('high')).status?.nominatedNodeName, 'n1')
  await cluster.addPods(podOf('higher', { ...high, priority: 200 }))
  assert.equal((await cluster.getPod('higher')).status?.nominatedNodeName, 'n1')
  await cluster.advance(20_000)
  await cluster.deletePod('a')
  await cluster.advance(20_000)
  assert.deepEqual(await cluster.places(), { high: '', higher: 'n1' })
  const pod = await cluster.getPod('high')
  assert.equal(pod.status?.nominatedNodeName, undefined)
  assert.match(messageOf(pod) ?? '', /1 No preemption victims found for incoming pod\.$/)
})

test('a pod that lost its nominated node preempts on another node', async t => {
  const cluster = await startTestCluster(t)
  await cluster.addNodes(nodeOf('n1'), nodeOf('n2'))
  const on = (name: string, node: string, parts: PodParts): Pod => {
    return podOf(name, { ...parts, nodeSelector: onNode(node) })
  }
  await cluster.addPods(
    on('a', 'n1', { priority: 1, cpu: '2' }),
    on('b', 'n1', { priority: 60, cpu: '2' }),
    on('c', 'n2', { priority: 70, cpu: '4' }),
  )
  await cluster.addPods(podOf('high', { priority: 100, cpu: '2' }))
  assert.equal((await cluster.getPod('high')).status?.nominatedNodeName, 'n1')
  await cluster.addPods(on('higher', 'n1', { priority: 200, cpu: '4' }))
  await cluster.advance(20_000)
  assert.equal(await leaving(cluster), 'a b c')
  assert.equal((await cluster.getPod('high')).status?.nominatedNodeName, 'n2')
  for (const name of ['a', 'b', 'c']) await cluster.deletePod(name)
  await cluster.advance(20_000)
  assert.deepEqual(await cluster.places(), { high: 'n2', higher: 'n1' })
})

test('PodDisruptionBudgets are violated only if there is no other candidate', async t => {
  const cluster = await startFull(t, { n1: 'a', n2: 'b' })
  const budget = {
    metadata: { namespace: 'default', name: 'a' },
    spec: { selector: { matchLabels: { app: 'a' } } },
  }
  await cluster.create(podDisruptionBudgets, budget)
  await cluster.addPods(podOf('high', high))
  assert.equal(await leaving(cluster), 'b')
  await cluster.deletePod('b')
  await cluster.advance(5_000)
  await cluster.addPods(podOf('higher', { ...high, priority: 100 }))
  assert.equal(await leaving(cluster), 'a')
})

test('a pod bound to another node releases its nominated node', async t => {
  const cluster = await startFull(t, { n1: 'a' })
  await cluster.addPods(podOf('high', high))
  assert.equal(await leaving(cluster), 'a')
  await cluster.addNodes(nodeOf('n2'))
  await cluster.advance(20_000)
  assert.deepEqual(await cluster.places(), { a: 'n1', high: 'n2' })
  // The nomination for n1 is cleared.
  await cluster.deletePod('a')
  await cluster.addPods(podOf('any', low))
  assert.equal((await cluster.places())['any'], 'n1')
})

/** Intercepts deletions by the scheduler: `decide` may delay or reject them. */
function onEviction(decide: (name: string) => Promise<void> | undefined): TestClusterOptions['admission'] {
  return () => [
    {
      name: 'OnEviction',
      handles: ({ operation, resource }) => operation === 'DELETE' && resource.plural === 'pods',
      validate: ({ name, user }) => (user.username === 'system:kube-scheduler' ? decide(name) : undefined),
    },
  ]
}

test('the preemptor is gated until all evictions are requested', async t => {
  const slow = Promise.withResolvers<void>()
  const admission = onEviction(name => (name === 'b' ? slow.promise : undefined))
  const cluster = await startTestCluster(t, { admission: admission! })
  await cluster.addNodes(nodeOf('n1'))
  await cluster.addPods(podOf('a', { priority: 1, cpu: '2' }), podOf('b', { priority: 1, cpu: '2' }))
  await cluster.addPods(podOf('high', { priority: 100, cpu: '4' }))
  assert.equal(await leaving(cluster), 'a')
  const failures = async (): Promise<number> => {
    const told = await cluster.list(events, 'default')
    return told.reduce((sum, { reason, count = 0 }) => sum + (reason === 'FailedScheduling' ? count : 0), 0)
  }
  assert.equal(await failures(), 1)
  await cluster.deletePod('a')
  await cluster.advance(20_000)
  assert.equal(await failures(), 1)
  assert.ok(!cluster.scheduler.isIdle)
  slow.resolve()
  await cluster.advance(20_000)
  assert.equal(await leaving(cluster), 'b')
  await cluster.deletePod('b')
  await cluster.advance(20_000)
  assert.deepEqual(await cluster.places(), { high: 'n1' })
})

test('after a failed eviction the preemptor is retried immediately', async t => {
  let rejected = 0
  const admission = onEviction(() => {
    if (rejected++ === 0) throw internalError('the webhook is down')
    return undefined
  })
  const cluster = await startTestCluster(t, { admission: admission! })
  await cluster.addNodes(nodeOf('n1'))
  await cluster.addPods(podOf('a', low))
  await cluster.addPods(podOf('high', high))
  assert.equal(rejected, 2)
  assert.equal(await leaving(cluster), 'a')
})

test('a victim replaced by a pod of the same name is not deleted', async t => {
  const cluster = await startTestCluster(t)
  await cluster.addPods(podOf('a'))
  const { client, run } = cluster
  const old = podInfoOf(stored(podOf('a', { uid: 'old' })))
  const told: string[] = []
  const task = {
    pod: podInfoOf(stored(podOf('high'))),
    node: 'n1',
    victims: [old],
    lowerPriorityNominatedPods: [old],
    nowMs: 0,
  }
  const record = (_about: Pod, { message }: { readonly message: string }): void => void told.push(message)
  await run(prepareCandidate(task, { client, signal: new AbortController().signal, record }))
  await run(
    prepareCandidate(
      { ...task, victims: [podInfoOf(stored(podOf('gone', { uid: 'gone' })))] },
      { client, signal: new AbortController().signal, record },
    ),
  )
  const pod = await cluster.getPod('a')
  assert.ok(!isBeingDeleted(pod))
  assert.ok(!pod.status?.conditions?.some(({ type }) => type === 'DisruptionTarget'))
  assert.deepEqual(told, [])
})

test('DefaultPreemptionArgs are validated', () => {
  const make = (args: Readonly<Record<string, unknown>>): unknown => {
    const context = { platform: {}, informer: () => undefined } as unknown as Parameters<
      typeof defaultPreemption
    >[0]
    return defaultPreemption(context, args)
  }
  assert.throws(() => make({ minCandidateNodesPercentage: 101 }), /not in valid range \[0, 100\]/)
  assert.throws(() => make({ minCandidateNodesPercentage: '10' }), /not in valid range/)
  assert.throws(() => make({ minCandidateNodesAbsolute: -1 }), /not in valid range \[0, inf\)/)
  const none = { minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0 }
  assert.throws(() => make(none), /cannot be zero at the same time/)
  assert.doesNotThrow(() => make({ minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 1 }))
})
