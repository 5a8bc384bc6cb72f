/** The conformance tests for preemption and priority classes; each test has the upstream name. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { replicaSets } from '#/api/generated/apps/v1-resources.ts'
import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { priorityClasses } from '#/api/generated/scheduling/v1-resources.ts'
import type { PriorityClass } from '#/api/generated/scheduling/v1.ts'
import { isBeingDeleted, keyOf } from '#/api/metadata.ts'
import { replicaSetController } from '#/controllers/replica-set.ts'
import { usualAdmission } from '#/controllers/test-admission.ts'
import { runPods, stopPods } from '#/controllers/test-pods.ts'
import { nodeOf, podOf, startTestCluster, type PodParts, type TestCluster } from './test-cluster.ts'

type TestOf = Parameters<typeof startTestCluster>[0]

const scarce = 'example.com/scarce'

/** Nodes n1 and n2 with this amount of an extended resource, and the named priority classes. */
async function start(
  t: TestOf,
  amount: string,
  classes: Readonly<Record<string, number>>,
): Promise<TestCluster> {
  const cluster = await startTestCluster(t, {
    controllers: [replicaSetController],
    admission: await usualAdmission(),
  })
  for (const [name, value] of Object.entries(classes)) {
    await cluster.run(cluster.client.create(priorityClasses, { metadata: { name }, value }))
  }
  for (const name of ['n1', 'n2']) {
    await cluster.addNodes(nodeOf(name, { others: { [scarce]: amount } }))
    // Removes the not-ready taint.
    await cluster.change(nodes, name, node => ({ ...node, spec: { ...node.spec, taints: [] } }))
  }
  return cluster
}

const levels = { 'low-priority': 1, 'medium-priority': 100, 'high-priority': 1_000 }

function asking(amount: string, priorityClassName: string, parts: PodParts = {}): PodParts {
  return { others: { [scarce]: amount }, priorityClassName, ...parts }
}

/** Required node affinity to this node. */
function at(node: string): Pick<PodParts, 'affinity'> {
  const matchFields = [{ key: 'metadata.name', operator: 'In', values: [node] }]
  const required = { nodeSelectorTerms: [{ matchFields }] }
  return { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } } }
}

const isOnNode = ({ spec }: Pod): boolean => Boolean(spec?.nodeName)

/** Acts as the kubelets for a while: scheduled pods run, terminating pods are removed. */
async function live(cluster: TestCluster): Promise<void> {
  for (let turn = 0; turn < 5; turn++) {
    await runPods(cluster, isOnNode)
    await stopPods(cluster)
    await cluster.advance(5_000)
  }
}

/** Uses four fifths of each node; one pod has a lower priority than the rest. */
async function fill(cluster: TestCluster): Promise<void> {
  await cluster.addPods(
    podOf('pod1-low', asking('2', 'low-priority', at('n1'))),
    podOf('pod1-medium', asking('2', 'medium-priority', at('n1'))),
    podOf('pod2-medium-1', asking('2', 'medium-priority', at('n2'))),
    podOf('pod2-medium-2', asking('2', 'medium-priority', at('n2'))),
  )
  await runPods(cluster, isOnNode)
}

async function checkLowIsReplaced(cluster: TestCluster, key: string): Promise<void> {
  assert.equal(isBeingDeleted(await cluster.getPod('pod1-low')), true)
  await live(cluster)
  const all = await cluster.list(pods)
  const places = Object.fromEntries(all.map(pod => [keyOf(pod), pod.spec?.nodeName]))
  assert.deepEqual(places, {
    'default/pod1-medium': 'n1',
    'default/pod2-medium-1': 'n2',
    'default/pod2-medium-2': 'n2',
    [key]: 'n1',
  })
  assert.ok(!all.some(isBeingDeleted))
  assert.ok(all.every(({ status }) => status?.phase === 'Running'))
}

test('Scheduler, Basic Preemption', async t => {
  const cluster = await start(t, '5', levels)
  await fill(cluster)
  await cluster.addPods(podOf('preemptor-pod', asking('2', 'high-priority')))
  await checkLowIsReplaced(cluster, 'default/preemptor-pod')
})

test('Scheduler, Preemption for critical pod', async t => {
  const cluster = await start(t, '5', levels)
  await fill(cluster)
  const namespace = 'kube-system'
  await cluster.addPods(podOf('critical-pod', asking('2', 'system-cluster-critical', { namespace })))
  await checkLowIsReplaced(cluster, 'kube-system/critical-pod')
})

test('Verify the DisruptionTarget condition is added to the preempted pod', async t => {
  const cluster = await start(t, '1', levels)
  const victim = podOf('victim-pod', asking('1', 'low-priority', at('n1')))
  const finalizers = ['example.com/test-finalizer']
  await cluster.addPods({ ...victim, metadata: { ...victim.metadata, finalizers } })
  await runPods(cluster, isOnNode)
  await cluster.addPods(podOf('preemptor-pod', asking('1', 'high-priority', at('n1'))))
  await stopPods(cluster)
  const kept = await cluster.getPod('victim-pod')
  assert.equal(isBeingDeleted(kept), true)
  const condition = kept.status?.conditions?.find(({ type }) => type === 'DisruptionTarget')
  assert.equal(condition?.status, 'True')
  assert.equal(condition?.reason, 'PreemptionByScheduler')
  await cluster.change(pods, 'default/victim-pod', pod => {
    return { ...pod, metadata: { ...pod.metadata, finalizers: [] } }
  })
  await live(cluster)
  assert.deepEqual(await cluster.places(), { 'preemptor-pod': 'n1' })
})

test('Pod preemption verification', async t => {
  const cluster = await start(t, '1000', { p1: 1, p2: 2, p3: 3, p4: 4 })
  const seen = new Map<string, Set<string>>()
  const look = async (): Promise<void> => {
    for (const { metadata } of await cluster.list(pods, 'default')) {
      const set = metadata.labels?.['name'] ?? ''
      seen.set(set, (seen.get(set) ?? new Set()).add(metadata.uid))
    }
  }
  const nodeSelector = { 'kubernetes.io/hostname': 'n1' }
  for (const [index, amount] of ['200', '300', '450'].entries()) {
    const name = `pod${index + 1}`
    const { spec } = podOf(name, asking(amount, `p${index + 1}`, { nodeSelector }))
    await cluster.create(replicaSets, {
      metadata: { namespace: 'default', name: `rs-${name}` },
      spec: {
        replicas: 1,
        selector: { matchLabels: { name } },
        template: { metadata: { labels: { name } }, spec: spec! },
      },
    })
    await runPods(cluster, isOnNode)
    const set = await cluster.run(
      cluster.client.get(replicaSets, { namespace: 'default', name: `rs-${name}` }),
    )
    assert.equal(set.status?.availableReplicas, 1)
  }
  await look()
  await cluster.addPods(podOf('pod4', asking('500', 'p4', { nodeSelector, labels: { name: 'pod4' } })))
  for (let turn = 0; turn < 5; turn++) {
    await look()
    await live(cluster)
  }
  await look()
  assert.equal((await cluster.getPod('pod4')).spec?.nodeName, 'n1')
  const counts = Object.fromEntries([...seen].map(([set, uids]) => [set, uids.size]))
  // The pods of the first two ReplicaSets were preempted once and recreated; no others were.
  assert.deepEqual(counts, { pod1: 2, pod2: 2, pod3: 1, pod4: 1 })
})

test('Scheduler, Verify PriorityClass endpoints', async t => {
  const cluster = await start(t, '1', { p1: 1, p2: 2 })
  const { client, run } = cluster
  const get = (name: string): Promise<PriorityClass> => run(client.get(priorityClasses, { name }))
  const [first, second] = [await get('p1'), await get('p2')]
  const isImmutable = { reason: 'Invalid', message: /value: Forbidden: may not be changed in an update/ }
  const patch = (change: object): Promise<PriorityClass> => {
    return run(client.patch(priorityClasses, { name: 'p1' }, { type: 'strategic', patch: change }))
  }
  await assert.rejects(patch({ value: 10 }), isImmutable)
  await assert.rejects(run(client.update(priorityClasses, { ...second, value: 20 })), isImmutable)

  const description = 'updated description'
  await patch({ description })
  await run(client.update(priorityClasses, { ...second, description }))
  const { items } = await run(client.list(priorityClasses))
  for (const before of [first, second]) {
    const now = items.find(({ metadata }) => metadata.name === before.metadata.name)
    assert.equal(now?.description, description)
    assert.equal(now?.value, before.value)
    assert.ok(BigInt(now?.metadata.resourceVersion) > BigInt(before.metadata.resourceVersion ?? 0))
  }
})

test('pods of various priorities preempt in their order', async t => {
  const cluster = await start(t, '10', levels)
  const make = (count: number, level: string): Promise<void> => {
    const made = Array.from({ length: count }, (_, index) => {
      return podOf(`${level}-${index}`, asking('1', `${level}-priority`))
    })
    return cluster.addPods(...made)
  }
  await make(20, 'low')
  await runPods(cluster, isOnNode)
  await make(20, 'medium')
  await cluster.advance(10_000)
  const all = await cluster.list(pods, 'default')
  assert.equal(all.filter(isBeingDeleted).length, 20)
  // All are created before any victim is gone.
  await make(10, 'high')
  await cluster.advance(10_000)
  await live(cluster)
  const places = Object.entries(await cluster.places())
  const count = (level: string, isPlaced: boolean): number => {
    return places.filter(([name, node]) => name.startsWith(level) && (node !== '') === isPlaced).length
  }
  assert.deepEqual([count('low', true), count('high', true), count('medium', true)], [0, 10, 10])
  assert.equal(count('medium', false), 10)
})
