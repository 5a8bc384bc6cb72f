import assert from 'node:assert/strict'
import { test } from 'node:test'
import { statefulSets } from '#/api/generated/apps/v1-resources.ts'
import type { StatefulSet } from '#/api/generated/apps/v1.ts'
import { persistentVolumeClaims, persistentVolumes, pods } from '#/api/generated/core/v1-resources.ts'
import type { PersistentVolume } from '#/api/generated/core/v1.ts'
import { csiDrivers, csiStorageCapacities, storageClasses } from '#/api/generated/storage/v1-resources.ts'
import { ensureDefaultStorageClass } from '#/controllers/default-storage-class.ts'
import { hostPathProvisioner } from '#/controllers/host-path-provisioner.ts'
import { persistentVolumeBinderController } from '#/controllers/persistent-volume-binder.ts'
import { statefulSetController } from '#/controllers/stateful-set.ts'
import { usualAdmission } from '#/controllers/test-admission.ts'
import {
  claimOf,
  classOf,
  eventsAbout,
  podWithClaims,
  showClaims,
  volumeOf,
} from '#/controllers/test-storage.ts'
import { nodeOf, startTestCluster, type TestCluster } from '../test-cluster.ts'
import { testProfiles } from './test-profile.ts'

type Context = Parameters<typeof startTestCluster>[0]

/** A cluster with a controller that binds and provisions volumes, if `isBinding`. */
async function start(t: Context, isBinding = true): Promise<TestCluster> {
  const provisioner = hostPathProvisioner({ removeFolder: () => Promise.resolve() })
  const binder = persistentVolumeBinderController({ provisioners: [provisioner] })
  const cluster = await startTestCluster(t, {
    profiles: testProfiles,
    controllers: isBinding ? [binder, statefulSetController] : [],
    // No controller would remove the not-ready taint.
    admission: await usualAdmission({ disable: ['ServiceAccount', 'TaintNodesByCondition'] }),
  })
  await cluster.run(ensureDefaultStorageClass(cluster.client))
  return cluster
}

const lazy = { volumeBindingMode: 'WaitForFirstConsumer', provisioner: 'kubernetes.io/no-provisioner' }

function onNode(name: string): NonNullable<PersistentVolume['spec']> {
  const requirement = { key: 'kubernetes.io/hostname', operator: 'In', values: [name] }
  return {
    storageClassName: 'local',
    nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [requirement] }] } },
  }
}

/** Message of the last event of the pod. */
async function lastWord(cluster: TestCluster, pod: string): Promise<string> {
  const said = await eventsAbout(cluster, pod)
  return said.at(-1) ?? ''
}

function statefulSetOf(name: string, replicas: number): StatefulSet {
  const labels = { app: name }
  const template = claimOf('data')
  return {
    metadata: { namespace: 'default', name },
    spec: {
      replicas,
      serviceName: name,
      selector: { matchLabels: labels },
      podManagementPolicy: 'Parallel',
      volumeClaimTemplates: [{ ...template, metadata: { name: 'data' } }],
      template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'image' }] } },
    },
  }
}

test('pods of a StatefulSet are scheduled to the nodes of their volumes, also after recreation', async t => {
  const cluster = await start(t)
  await cluster.addNodes(nodeOf('n1'), nodeOf('n2'), nodeOf('n3'))
  await cluster.create(statefulSets, statefulSetOf('db', 3))
  await cluster.advance(5_000)
  const first = await cluster.places()
  assert.deepEqual(Object.keys(first).toSorted(), ['db-0', 'db-1', 'db-2'])
  assert.ok(Object.values(first).every(node => node !== ''))
  for (const { metadata, spec } of await cluster.list(persistentVolumes)) {
    const pod = spec?.claimRef?.name?.replace('data-', '') ?? ''
    const [term] = spec?.nodeAffinity?.required?.nodeSelectorTerms ?? []
    assert.deepEqual(term?.matchExpressions?.[0]?.values, [first[pod]], metadata.name)
  }
  for (const name of Object.keys(first)) await cluster.deletePod(name)
  await cluster.advance(5_000)
  assert.deepEqual(await cluster.places(), first)
})

test('a pod with a volume on a removed node is unschedulable until the node is back', async t => {
  const cluster = await start(t, false)
  await cluster.addNodes(nodeOf('n1'), nodeOf('n2'))
  await cluster.create(persistentVolumes, volumeOf('v', '1Gi', onNode('n3')))
  const bound = { 'pv.kubernetes.io/bind-completed': 'yes' }
  const spec = { storageClassName: 'local', volumeName: 'v' }
  await cluster.create(persistentVolumeClaims, claimOf('data', '1Gi', spec, { annotations: bound }))
  await cluster.addPods(podWithClaims('web', ['data']))
  assert.match(
    await lastWord(cluster, 'web'),
    /^FailedScheduling: 0\/2 nodes are available: 2 node\(s\) didn't match PersistentVolume's node affinity\./,
  )
  await cluster.addNodes(nodeOf('n3'))
  await cluster.advance(2_000)
  assert.deepEqual(await cluster.places(), { web: 'n3' })
})

test('static volumes are chosen together with the node, one per claim', async t => {
  const cluster = await start(t)
  await cluster.addNodes(nodeOf('n1'), nodeOf('n2'), nodeOf('n3'))
  await cluster.create(storageClasses, classOf('local', lazy))
  await cluster.create(persistentVolumes, volumeOf('v1', '2Gi', onNode('n1')))
  await cluster.create(persistentVolumes, volumeOf('v2', '1Gi', onNode('n2')))
  for (const name of ['a', 'b', 'c'])
    await cluster.create(persistentVolumeClaims, claimOf(name, '1Gi', { storageClassName: 'local' }))
  const made = ['a', 'b', 'c'].map(name => podWithClaims(`web-${name}`, [name]))
  await cluster.run(Promise.all(made.map(pod => cluster.client.create(pods, pod))))
  await cluster.advance(5_000)
  // No two pods chose the same volume.
  for (const { metadata } of made) {
    const told = (await eventsAbout(cluster, metadata.name ?? '')).join('\n')
    assert.doesNotMatch(told, /the object has been modified/)
  }
  const places = await cluster.places()
  assert.deepEqual(Object.values(places).toSorted(), ['', 'n1', 'n2'])
  const waiting = Object.keys(places).find(name => places[name] === '') ?? ''
  assert.match(
    await lastWord(cluster, waiting),
    /0\/3 nodes are available: 3 node\(s\) didn't find available persistent volumes to bind\./,
  )
  await cluster.create(persistentVolumes, volumeOf('v3', '1Gi', onNode('n3')))
  await cluster.advance(15_000)
  assert.equal((await cluster.places())[waiting], 'n3')
  assert.ok(!(await showClaims(cluster)).includes('Pending'))
})

test('two claims of a pod get two volumes on one node', async t => {
  const cluster = await start(t)
  await cluster.addNodes(nodeOf('n1'), nodeOf('n2'))
  await cluster.create(storageClasses, classOf('local', lazy))
  for (const [name, size, node] of [
    ['v1', '5Gi', 'n1'],
    ['v2', '5Gi', 'n2'],
    ['v3', '1Gi', 'n2'],
  ] as const)
    await cluster.create(persistentVolumes, volumeOf(name, size, onNode(node)))
  await cluster.create(persistentVolumeClaims, claimOf('large', '3Gi', { storageClassName: 'local' }))
  await cluster.create(persistentVolumeClaims, claimOf('small', '1Gi', { storageClassName: 'local' }))
  await cluster.addPods(podWithClaims('web', ['large', 'small']))
  await cluster.advance(2_000)
  assert.deepEqual(await cluster.places(), { web: 'n2' })
  assert.equal(await showClaims(cluster), 'large:Bound>v2 small:Bound>v3')
})

test('a pod is requeued if its volume is not provisioned within the timeout', async t => {
  const cluster = await start(t, false)
  await cluster.addNodes(nodeOf('n1'))
  await cluster.create(persistentVolumeClaims, claimOf('data'))
  await cluster.addPods(podWithClaims('web', ['data']))
  const [claim] = await cluster.list(persistentVolumeClaims)
  assert.equal(claim?.metadata.annotations?.['volume.kubernetes.io/selected-node'], 'n1')
  assert.deepEqual(await cluster.places(), { web: '' })
  await cluster.advance(600_000)
  assert.match(await lastWord(cluster, 'web'), /binding volumes: context deadline exceeded/)
})

test('after failed provisioning another node can be selected', async t => {
  const cluster = await start(t, false)
  await cluster.addNodes(nodeOf('n1'), nodeOf('n2'))
  await cluster.create(persistentVolumeClaims, claimOf('data'))
  await cluster.addPods(podWithClaims('web', ['data']))
  const selected = async (): Promise<string | undefined> => {
    const [claim] = await cluster.list(persistentVolumeClaims)
    return claim?.metadata.annotations?.['volume.kubernetes.io/selected-node']
  }
  assert.match((await selected()) ?? '', /^n[12]$/)
  await cluster.change(persistentVolumeClaims, 'default/data', claim => ({
    ...claim,
    metadata: { ...claim.metadata, annotations: {} },
  }))
  assert.match(
    (await eventsAbout(cluster, 'web')).join('\n'),
    /binding volumes: provisioning failed for PVC "data"/,
  )
  await cluster.advance(5_000)
  assert.match((await selected()) ?? '', /^n[12]$/)
})

test('binding ends when the pod is deleted while waiting for volumes', async t => {
  const cluster = await start(t, false)
  await cluster.addNodes(nodeOf('n1'))
  await cluster.create(persistentVolumeClaims, claimOf('data'))
  await cluster.addPods(podWithClaims('web', ['data']))
  assert.equal(cluster.scheduler.isIdle, false)
  await cluster.deletePod('web')
  assert.equal(cluster.scheduler.isIdle, true)
})

test('volumes are provisioned only where the driver has enough capacity', async t => {
  const cluster = await start(t, false)
  await cluster.addNodes(
    nodeOf('n1', { labels: { rack: 'a' } }),
    nodeOf('n2', { labels: { rack: 'b' } }),
    nodeOf('n3', { labels: { rack: 'c' } }),
  )
  await cluster.create(csiDrivers, { metadata: { name: 'csi.example.com' }, spec: { storageCapacity: true } })
  await cluster.create(storageClasses, classOf('far', { volumeBindingMode: 'WaitForFirstConsumer' }))
  const capacity = (rack: string, size: string): object => ({
    metadata: { namespace: 'default', name: rack },
    storageClassName: 'far',
    nodeTopology: { matchLabels: { rack } },
    capacity: size,
  })
  await cluster.create(csiStorageCapacities, capacity('a', '1Gi') as never)
  await cluster.create(csiStorageCapacities, capacity('b', '5Gi') as never)
  await cluster.create(persistentVolumeClaims, claimOf('data', '9Gi', { storageClassName: 'far' }))
  await cluster.addPods(podWithClaims('web', ['data']))
  assert.match(
    await lastWord(cluster, 'web'),
    /0\/3 nodes are available: 3 node\(s\) did not have enough free storage\./,
  )
  await cluster.change(csiStorageCapacities, 'default/b', each => ({ ...each, capacity: '10Gi' }))
  await cluster.advance(2_000)
  const [claim] = await cluster.list(persistentVolumeClaims)
  assert.equal(claim?.metadata.annotations?.['volume.kubernetes.io/selected-node'], 'n2')
})

test('a pod is unschedulable while its claims are missing, unbound or of another owner', async t => {
  const cluster = await start(t)
  await cluster.addNodes(nodeOf('n1'))
  await cluster.addPods(podWithClaims('web', ['data']))
  assert.match(await lastWord(cluster, 'web'), /persistentvolumeclaim "data" not found/)
  await cluster.create(storageClasses, classOf('now', { volumeBindingMode: 'Immediate' }))
  await cluster.create(persistentVolumeClaims, claimOf('data', '1Gi', { storageClassName: 'now' }))
  await cluster.advance(2_000)
  assert.match(await lastWord(cluster, 'web'), /pod has unbound immediate PersistentVolumeClaims/)
  await cluster.create(persistentVolumes, volumeOf('v', '1Gi', { storageClassName: 'now' }))
  await cluster.advance(5_000)
  assert.deepEqual(await cluster.places(), { web: 'n1' })
  const [pod] = await cluster.list(pods)
  assert.equal(pod?.status?.conditions?.find(({ type }) => type === 'PodScheduled')?.status, 'True')
})
