import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deployments, replicaSets } from '#/api/generated/apps/v1-resources.ts'
import { horizontalPodAutoscalers } from '#/api/generated/autoscaling/v2-resources.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { configMaps, namespaces, nodes, pods, secrets } from '#/api/generated/core/v1-resources.ts'
import { Informers } from '#/client/informers.ts'
import { WorkQueue } from '#/client/workqueue.ts'
import { Cluster, type Program } from './testing.ts'

const web = {
  metadata: { namespace: 'default', name: 'web' },
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'web', image: 'web' }] },
    },
  },
}

for (const clock of ['virtual', 'real'] as const) {
  test(`a cluster of three nodes runs pods, with a ${clock} clock`, async () => {
    await using cluster = await Cluster.start({ nodes: 3, clock })
    const { items } = await cluster.client.list(nodes)
    assert.deepEqual(
      items.map(node => [node.metadata.name, node.status?.conditions?.at(-1)?.status]),
      [1, 2, 3].map(number => [`node-${number}`, 'True']),
    )
    await cluster.client.create(replicaSets, web)
    await cluster.settle()
    const set = await cluster.client.get(replicaSets, web.metadata)
    assert.equal(set.status?.availableReplicas, 3)
    const running = await cluster.client.list(pods)
    assert.deepEqual(
      new Set(running.items.map(pod => pod.spec?.nodeName)),
      new Set(['node-1', 'node-2', 'node-3']),
    )
  })
}

test('overlapping client calls complete', async () => {
  await using cluster = await Cluster.start({ nodes: 1 })
  const names = Array.from({ length: 20 }, (_, index) => `web-${index}`)
  await Promise.all(
    names.map(name =>
      cluster.client.create(replicaSets, { ...web, metadata: { namespace: 'default', name } }),
    ),
  )
  await Promise.all([cluster.settle(), cluster.clock.advance('10s')])
  const { items } = await cluster.client.list(replicaSets)
  assert.equal(items.filter(set => set.status?.availableReplicas === 3).length, 20)
})

test('a Deployment survives the failure of a node for more than five minutes', async () => {
  await using cluster = await Cluster.start({ nodes: 3 })
  await cluster.client.create(deployments, web)
  await cluster.settle()
  const victim = (await cluster.client.list(pods)).items[0]!
  const node = victim.spec?.nodeName ?? ''
  await cluster.stopNode(node)
  await cluster.clock.advance('2m')
  const silent = await cluster.client.get(nodes, { name: node })
  assert.equal(silent.status?.conditions?.find(({ type }) => type === 'Ready')?.status, 'Unknown')
  assert.ok(silent.spec?.taints?.some(({ key }) => key === 'node.kubernetes.io/unreachable'))
  await cluster.clock.advance('5m')
  const { items } = await cluster.client.list(pods)
  const alive = items.filter(pod => pod.metadata.deletionTimestamp === undefined)
  assert.equal(alive.length, 3)
  assert.ok(
    alive.every(pod => pod.spec?.nodeName !== node),
    'all are elsewhere',
  )
  const { status } = await cluster.client.get(deployments, web.metadata)
  assert.equal(status?.availableReplicas, 3)
  cluster.startNode({ name: node })
  await cluster.settle()
  assert.equal((await cluster.client.list(pods)).items.length, 3, 'what was left on the node is gone')
})

test('an autoscaler uses the metrics that pods report', async () => {
  await using cluster = await Cluster.start({ nodes: 1 })
  const { client } = cluster
  const containers = [{ name: 'web', image: 'web', resources: { requests: { cpu: '100m' } } }]
  const metadata = { labels: { app: 'web' }, annotations: { 'simulated.k8ts.io/cpu': '200m' } }
  const template = { metadata, spec: { containers } }
  await client.create(deployments, { ...web, spec: { ...web.spec, replicas: 1, template } })
  const target = { type: 'Utilization', averageUtilization: 50 }
  await client.create(horizontalPodAutoscalers, {
    metadata: web.metadata,
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
      minReplicas: 1,
      maxReplicas: 3,
      metrics: [{ type: 'Resource', resource: { name: 'cpu', target } }],
    },
  })
  const replicas = async (): Promise<number | undefined> => {
    return (await client.get(deployments, web.metadata)).status?.readyReplicas
  }
  await cluster.clock.advance('1m')
  assert.equal(await replicas(), 3)
  for (const {
    metadata: { name },
  } of (await client.list(pods)).items) {
    const patch = { metadata: { annotations: { 'simulated.k8ts.io/cpu': '10m' } } }
    await client.patch(pods, { namespace: 'default', name }, { type: 'merge', patch })
  }
  await cluster.clock.advance('6m')
  assert.equal(await replicas(), 1)
})

test('20 concurrent clusters are independent and deterministic', async () => {
  const story = async (seed: number): Promise<unknown> => {
    await using cluster = await Cluster.start({ nodes: 2, seed })
    const name = `web-${seed}`
    await cluster.client.create(replicaSets, { ...web, metadata: { namespace: 'default', name } })
    await cluster.clock.advance(`${seed}s`)
    await cluster.settle()
    const { items } = await cluster.client.list(pods)
    return { now: cluster.clock.now(), pods: items.map(shown) }
  }
  const shown = ({ metadata, spec }: Pod): unknown => {
    return [metadata.name, metadata.uid, metadata.resourceVersion, spec?.nodeName]
  }
  const seeds = Array.from({ length: 20 }, (_, index) => index + 1)
  const together = await Promise.all(seeds.map(story))
  assert.equal(new Set(together.map(each => JSON.stringify(each))).size, 20)
  for (const seed of [1, 7, 20]) assert.deepEqual(await story(seed), together[seed - 1])
})

test('manifests are applied as YAML or objects', async () => {
  await using cluster = await Cluster.start()
  const applied = await cluster.apply(`
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {namespace: shop, name: a}, data: {x: "1"}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}
`)
  assert.deepEqual(
    applied.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`),
    ['Namespace /shop', 'ConfigMap shop/a', 'ConfigMap default/b'],
  )
  const a = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'shop', name: 'a' } }
  await cluster.apply([{ ...a, data: { y: '2' } }])
  assert.deepEqual((await cluster.client.get(configMaps, a.metadata)).data, { y: '2' })
  assert.ok(await cluster.client.get(namespaces, { name: 'shop' }))
  await assert.rejects(
    cluster.apply({ apiVersion: 'v1', kind: 'Pood' }),
    /no matches for kind "Pood" in version "v1"/,
  )
  await assert.rejects(cluster.apply('just text'), /must be an object/)
  await assert.rejects(cluster.apply({ kind: 'Pod' }), /must have apiVersion and kind/)
})

/** Copies every ConfigMap to a Secret of the same name. */
const copier: Program = async ({ client, platform, signal }) => {
  const informers = new Informers({ client, platform })
  const maps = informers.of(configMaps, { namespace: 'default' })
  const queue = new WorkQueue({ platform, name: 'copier' })
  maps.addEventHandler(key => queue.add(key))
  const work = async (key: string): Promise<void> => {
    const map = maps.get(key)
    if (map === undefined) return
    const { namespace = '', name } = map.metadata
    const stringData = map.data ?? {}
    await client.apply(secrets, { metadata: { namespace, name }, stringData }, { fieldManager: 'copier' })
  }
  await Promise.all([informers.run(signal), queue.run({ workers: 2, signal, reconcile: work })])
}

test('a test program runs in the time of the cluster', async () => {
  await using cluster = await Cluster.start()
  const running = cluster.run(copier)
  const at = { namespace: 'default', name: 'settings' }
  await cluster.client.create(configMaps, { metadata: at, data: { color: 'blue' } })
  await cluster.settle()
  assert.deepEqual((await cluster.client.get(secrets, at)).data, { color: btoa('blue') })

  await running.stop()
  await cluster.client.patch(configMaps, at, { type: 'merge', patch: { data: { color: 'red' } } })
  await cluster.settle()
  assert.deepEqual(
    (await cluster.client.get(secrets, at)).data,
    { color: btoa('blue') },
    'no program is running',
  )
  cluster.run(copier)
  await cluster.settle()
  assert.deepEqual((await cluster.client.get(secrets, at)).data, { color: btoa('red') }, 'it goes on')
})

test('a program has the permissions of its user, and its failure fails the test', async () => {
  await using cluster = await Cluster.start()
  cluster.run(({ client }) => client.list(secrets).then(() => undefined), { username: 'nobody' })
  await assert.rejects(cluster.settle(), /User "nobody" cannot list resource "secrets"/)
  await cluster.settle()
})

test('a cluster that does not settle describes its activity', async () => {
  await using cluster = await Cluster.start()
  const at = { namespace: 'default', name: 'clock' }
  await cluster.client.create(configMaps, { metadata: at })
  const ticking = cluster.run(async ({ client, platform: { clock }, signal }) => {
    for (let time = 0; !signal.aborted; time++) {
      await client.patch(configMaps, at, { type: 'merge', patch: { data: { time: `${time}` } } })
      await clock.sleep(500, signal).catch(() => undefined)
    }
  })
  const message =
    /did not settle within 1m0s\n.*\n {2}kubernetes-admin: PATCH .*\/configmaps\/clock \(12\d times\)/
  await assert.rejects(cluster.settle({ within: '1m' }), message)
  await ticking.stop()
  await cluster.settle()
})

test('invalid options are rejected', async () => {
  await assert.rejects(Cluster.start({ store: 'embedded' }), /store 'embedded' requires clock 'real'/)
  const misspelled = { clock: 'rael' as 'real' }
  await assert.rejects(Cluster.start(misspelled), /clock must be 'virtual' or 'real', not 'rael'/)
  await using cluster = await Cluster.start({ nodes: [{ name: 'node-2' }, {}] })
  const { items } = await cluster.client.list(nodes)
  assert.deepEqual(
    items.map(node => node.metadata.name),
    ['node-2', 'node-3'],
  )
  await assert.rejects(
    cluster.kubeconfig(),
    /kubeconfig requires a real clock: start the cluster with clock: 'real'/,
  )
  await assert.rejects(cluster.clock.advance('soon'), /invalid duration: soon/)
  await assert.rejects(cluster.clock.advance(-1), /invalid duration: -1/)
  await assert.rejects(cluster.stopNode('node-9'), /node node-9 is not running/)
  assert.throws(() => cluster.startNode({ name: 'node-2' }), /node node-2 is already running/)
  await cluster.stop()
  await cluster.stop()
})

test('an error contains the call site in the test', async () => {
  await using cluster = await Cluster.start()
  const missing = cluster.client.get(pods, { namespace: 'default', name: 'missing' })
  await assert.rejects(missing, (error: Error) => error.stack?.includes('testing.test.ts') === true)
})

test('the trace of a Deployment leads to its pods and back', async () => {
  await using cluster = await Cluster.start({ nodes: 1 })
  await cluster.client.create(deployments, web)
  await cluster.settle()
  const text = await cluster.trace('deploy', 'web')
  for (const actor of [
    'deployment-controller',
    'replicaset-controller',
    'default-scheduler',
    'kubelet on node-1',
  ]) {
    assert.match(text, new RegExp(`${actor}: `))
  }
  assert.match(text, /began with kubernetes-admin .*: create Deployment default\/web/)
  await assert.rejects(cluster.trace('deploy', 'other'), /no change of deployment other is recorded/)
  await assert.rejects(cluster.trace('nonsense', 'web'), /unknown kind: nonsense/)
})
