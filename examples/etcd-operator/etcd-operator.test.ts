/** The manifests: definition and permissions. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { leases } from 'k8ts/api/coordination/v1'
import { events, services } from 'k8ts/api/core/v1'
import { runOperator } from 'k8ts/controller/operator'
import { Cluster } from 'k8ts/testing'
import { etcdClusters, type EtcdClusterSpec } from './etcd-cluster.ts'
import { etcdOperator } from './etcd-controller.ts'
import { SimulatedEtcd } from './simulation/simulated-etcd.ts'

const at = { namespace: 'default', name: 'db' }

async function manifest(name: string): Promise<string> {
  return readFile(new URL(`manifests/${name}.yaml`, import.meta.url), 'utf8')
}

async function startCluster(): Promise<Cluster> {
  const cluster = await Cluster.start({ nodes: 3 })
  await cluster.apply(await manifest('crd'))
  await cluster.settle()
  return cluster
}

/** As a user writes it: without the fields that have defaults. */
function specOf(spec: Partial<EtcdClusterSpec>): EtcdClusterSpec {
  return { image: 'etcd', ...spec } as EtcdClusterSpec
}

test('the definition sets defaults, and rejects what the operator cannot do', async () => {
  await using cluster = await startCluster()
  const { client } = cluster
  const { spec } = await client.create(etcdClusters, { metadata: at, spec: specOf({}) })
  assert.deepEqual(spec, { image: 'etcd', size: 3, memberTimeoutSeconds: 120 })
  const patch = (change: object) => client.patch(etcdClusters, at, { type: 'merge', patch: { spec: change } })
  await assert.rejects(patch({ size: 4 }), /size must be odd/)
  await assert.rejects(patch({ size: 11 }), /should be less than or equal to 9/)
  await assert.rejects(patch({ image: 'other' }), /image cannot be changed/)
  await assert.rejects(patch({ restore: { claimName: 'a', file: 'b' } }), /restore cannot be changed/)
  const other = { namespace: 'default', name: 'other' }
  const restore = { claimName: 'backups', file: '../secrets' }
  await assert.rejects(
    client.create(etcdClusters, { metadata: other, spec: specOf({ restore }) }),
    /spec\.restore\.file/,
  )
  const scale = { type: 'merge', patch: { spec: { replicas: 5 } } } as const
  await client.patch(etcdClusters, { ...at, subresource: 'scale' }, scale)
  assert.equal((await client.get(etcdClusters, at)).spec.size, 5)
})

test('the permissions of the manifest suffice', async () => {
  await using cluster = await startCluster()
  const { client } = cluster
  await cluster.apply(await manifest('operator'))
  const etcd = new SimulatedEtcd(cluster.platform)
  cluster.run(context => etcd.run(context))
  const namespace = 'etcd-operator'
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`]
  const user = { username: `system:serviceaccount:${namespace}:etcd-operator`, groups }
  cluster.run(context => runOperator(etcdOperator(etcd), { ...context, namespace }), user)
  await client.create(etcdClusters, { metadata: at, spec: specOf({ size: 3 }) })
  await cluster.clock.advance('2m')
  assert.equal((await client.get(etcdClusters, at)).status?.readyMembers, 3)
  await client.patch(etcdClusters, at, { type: 'merge', patch: { spec: { size: 1 } } })
  await cluster.clock.advance('2m')
  const { status } = await client.get(etcdClusters, at)
  assert.deepEqual([status?.size, status?.readyMembers, status?.members?.length], [1, 1, 1])
  assert.ok(await client.find(services, at))
  assert.ok(await client.find(leases, { namespace, name: 'etcd-operator' }))
  const { items } = await client.list(events, { fieldSelector: 'involvedObject.kind=EtcdCluster' })
  const reasons = new Set(items.map(({ reason }) => reason))
  assert.deepEqual(reasons, new Set(['Bootstrapping', 'MemberAdded', 'MemberPromoted', 'MemberRemoved']))
  await client.delete(etcdClusters, at)
  await cluster.settle()
  assert.equal(await client.find(services, at), undefined, 'garbage collected')
})
