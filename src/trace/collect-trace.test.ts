import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deployments } from '#/api/generated/apps/v1-resources.ts'
import { configMaps, pods, services } from '#/api/generated/core/v1-resources.ts'
import type { Client } from '#/client/client.ts'
import { NoHistoryError } from '#/client/list-writes.ts'
import { Cluster } from '#/testing/testing.ts'
import { collectTrace } from './collect-trace.ts'
import { followTrace } from './follow-trace.ts'
import type { Trace } from './trace.ts'

const at = { namespace: 'default', name: 'web' }
const web = {
  metadata: at,
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'web', image: 'web' }] },
    },
  },
}
const service = { metadata: at, spec: { selector: { app: 'web' }, ports: [{ port: 80 }] } }
const deployment = { resource: deployments, ...at }

test('the chain of a Deployment begins with its creation and comes back to its status', async () => {
  await using cluster = await started()
  const trace = await collectTrace(cluster.client, deployment)
  assert.equal(trace?.root.verb, 'create')
  assert.deepEqual(missing(trace, chain), [])
  assert.equal(trace.hops.filter(({ object }) => object?.kind === 'Event').length, 0)
})

const chain = [
  'deployment-controller create ReplicaSet',
  'replicaset-controller create Pod',
  'default-scheduler create Pod/binding',
  'kubelet update Pod/status',
  'endpoint-slice-controller update EndpointSlice',
  'replicaset-controller update ReplicaSet/status',
  'deployment-controller update Deployment/status',
]

test('the chain of a pod begins with the request that made its Deployment, without the other pods', async () => {
  await using cluster = await started()
  const [first] = (await cluster.client.list(pods)).items
  assert.ok(first)
  const trace = await collectTrace(cluster.client, {
    resource: pods,
    namespace: 'default',
    name: first.metadata.name,
  })
  assert.equal(trace?.root.object?.kind, 'Deployment')
  const names = trace.hops.flatMap(({ object }) => (object?.kind === 'Pod' ? object.name : []))
  assert.deepEqual([...new Set(names)], [first.metadata.name])
})

test('the latest change with consequences is the root, or that of a revision', async () => {
  await using cluster = await started()
  const firstRevision = (await collectTrace(cluster.client, deployment))?.root.revision ?? 0
  const scaled = await cluster.client.patch(deployments, at, {
    type: 'merge',
    patch: { spec: { replicas: 3 } },
  })
  await cluster.settle()
  await cluster.client.patch(deployments, at, {
    type: 'merge',
    patch: { metadata: { labels: { note: 'x' } } },
  })
  await cluster.settle()
  const latest = await collectTrace(cluster.client, deployment)
  assert.equal(latest?.root.id, scaled.metadata.resourceVersion)
  const created = await collectTrace(cluster.client, deployment, { atRevision: firstRevision })
  assert.deepEqual([created?.root.verb, created?.root.revision], ['create', firstRevision])
  assert.equal(await collectTrace(cluster.client, deployment, { atRevision: firstRevision + 1 }), undefined)
})

test('a deleted object still has its chain', async () => {
  await using cluster = await started()
  await cluster.client.delete(deployments, at, { propagationPolicy: 'Background' })
  await cluster.settle()
  const trace = await collectTrace(cluster.client, deployment)
  assert.equal(trace?.root.verb, 'delete')
  assert.ok(trace.hops.some(({ verb, object }) => verb === 'delete' && object?.kind === 'ReplicaSet'))
})

test('an object without recorded changes has no trace', async () => {
  await using cluster = await Cluster.start()
  assert.equal(await collectTrace(cluster.client, deployment), undefined)
})

test('a user sees the hops of readable objects only, and what could not be read', async () => {
  await using cluster = await started()
  const rules = [
    { apiGroups: ['apps'], resources: ['deployments', 'replicasets'], verbs: ['get', 'list'] },
    { nonResourceURLs: ['/k8ts/*'], verbs: ['get'] },
  ]
  await cluster.apply([
    { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'apps' }, rules },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'apps' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'apps' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'alice' }],
    },
  ])
  const trace = await collectTrace(cluster.clientAs({ username: 'alice' }), deployment)
  assert.ok(trace)
  const kinds = new Set(trace.hops.map(({ object }) => object?.kind))
  assert.deepEqual(kinds, new Set(['Deployment', 'ReplicaSet']))
  assert.match(trace.notes.join(), /not permitted/)
})

test('a server without history is reported as such', async () => {
  await using cluster = await Cluster.start()
  const plain = withoutHistory(cluster.client)
  await cluster.client.create(configMaps, { metadata: { namespace: 'default', name: 'plain' } })
  const object = { resource: configMaps, namespace: 'default', name: 'plain' }
  await assert.rejects(collectTrace(plain, object), NoHistoryError)
})

test('a chain is followed from before the object exists', async () => {
  await using cluster = await Cluster.start({ nodes: 1, clock: 'real' })
  const seen: Trace[] = []
  const complete = new AbortController()
  const following = followTrace(cluster.client, deployment, {
    clock: cluster.platform.clock,
    quietMs: 60_000,
    signal: complete.signal,
    onTrace: trace => {
      seen.push(trace)
      if (missing(trace, chain).length === 0) complete.abort(new Error('complete'))
    },
  })
  await cluster.client.create(services, service)
  await cluster.client.create(deployments, web)
  await assert.rejects(following, /complete/)
  for (const [index, trace] of seen.entries()) {
    assert.ok(
      trace.hops.length > (seen[index - 1]?.hops.length ?? 0),
      'each has more hops than the one before',
    )
  }
})

test('following ends when the chain is quiet', async () => {
  await using cluster = await Cluster.start({ clock: 'real' })
  await cluster.client.create(services, service)
  const seen: Trace[] = []
  const { clock } = cluster.platform
  const object = { resource: services, ...at }
  await followTrace(cluster.client, object, { clock, quietMs: 0, onTrace: trace => seen.push(trace) })
  assert.equal(seen.at(-1)?.root.object?.kind, 'Service')
})

test('following goes on while a pod of the chain is not ready, and says what it waits for', async () => {
  await using cluster = await Cluster.start({ nodes: 0, clock: 'real' })
  await cluster.client.create(deployments, web)
  await cluster.settle()
  const stop = new AbortController()
  const waits: (readonly string[])[] = []
  const following = followTrace(cluster.client, deployment, {
    clock: cluster.platform.clock,
    quietMs: 0,
    signal: stop.signal,
    onTrace: () => undefined,
    onWait: unsettled => {
      waits.push(unsettled)
      if (unsettled.length === 2) stop.abort(new Error('both wait'))
    },
  })
  await assert.rejects(following, /both wait/)
  for (const reason of waits.flat()) assert.match(reason, /^pod default\/web-\S+: not scheduled$/)
})

test('following ends when its signal is aborted', async () => {
  await using cluster = await Cluster.start({ clock: 'real' })
  const stop = new AbortController()
  const following = followTrace(cluster.client, deployment, {
    clock: cluster.platform.clock,
    quietMs: 60_000,
    onTrace: () => undefined,
    signal: stop.signal,
  })
  stop.abort(new Error('enough'))
  await assert.rejects(following, /enough/)
})

async function started(): Promise<Cluster> {
  const cluster = await Cluster.start({ nodes: 2 })
  await cluster.client.create(services, service)
  await cluster.client.create(deployments, web)
  await cluster.settle()
  return cluster
}

/** Those of the expected hops that are not in the trace in this order. */
function missing(trace: Trace | undefined, expected: readonly string[]): readonly string[] {
  assert.ok(trace)
  const shown = trace.hops.map(({ actor, verb, object, subresource }) => {
    return `${actor} ${verb} ${object?.kind}${subresource ? `/${subresource}` : ''}`
  })
  let from = 0
  return expected.filter(each => {
    const index = shown.indexOf(each, from)
    if (index !== -1) from = index + 1
    return index === -1
  })
}

/** As another server answers: parameters that it does not know are ignored, and `/k8ts` is not found. */
function withoutHistory(client: Client): Client {
  return {
    ...client,
    raw: request => client.raw({ ...request, query: new URLSearchParams() }),
  }
}
