/** The conformance tests of ReplicaSets and ReplicationControllers, written from their descriptions. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ReplicaSet } from '#/api/generated/apps/v1.ts'
import { replicaSets } from '#/api/generated/apps/v1-resources.ts'
import type { Scale } from '#/api/generated/autoscaling/v1.ts'
import type { Pod, ReplicationController } from '#/api/generated/core/v1.ts'
import { pods, replicationControllers, resourceQuotas } from '#/api/generated/core/v1-resources.ts'
import { controllerOf, keyOf } from '#/api/metadata.ts'
import { garbageCollectorController } from './garbage-collector.ts'
import { replicaSetController, replicationControllerController } from './replica-set.ts'
import { usualAdmission } from './test-admission.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'
import { runAllPods } from './test-pods.ts'

const at = { namespace: 'default', name: 'web' }
const labels = { name: 'web' }
const template = { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'httpd' }] } }
const orphan: Pod = { metadata: { namespace: 'default', name: 'orphan', labels }, spec: template.spec }

function setOf(replicas: number): ReplicaSet {
  return { metadata: { ...at, labels }, spec: { replicas, selector: { matchLabels: labels }, template } }
}

function controllerOfPods(replicas: number): ReplicationController {
  return { metadata: { ...at, labels }, spec: { replicas, selector: labels, template } }
}

function start(t: Parameters<typeof startTestControlPlane>[0]): Promise<TestControlPlane> {
  return startTestControlPlane(t, [
    replicaSetController,
    replicationControllerController,
    garbageCollectorController,
  ])
}

async function orphanOwner(plane: TestControlPlane): Promise<string | undefined> {
  return controllerOf(await plane.run(plane.client.get(pods, { ...at, name: 'orphan' })))?.kind
}

/** Changes the labels of a pod, so that it is released. */
async function relabel(plane: TestControlPlane, pod: Pod): Promise<void> {
  await plane.change(pods, keyOf(pod), each => ({
    ...each,
    metadata: { ...each.metadata, labels: { name: 'not-matching' } },
  }))
}

test('a ReplicaSet runs its pods', async t => {
  const plane = await start(t)
  await plane.create(replicaSets, setOf(2))
  await runAllPods(plane)
  const [set] = await plane.list(replicaSets)
  assert.deepEqual([set?.status?.readyReplicas, set?.status?.availableReplicas], [2, 2])
})

test('a ReplicaSet is replaced and patched', async t => {
  const plane = await start(t)
  await plane.create(replicaSets, setOf(1))
  await runAllPods(plane)
  await plane.change(replicaSets, keyOf(setOf(1)), each => ({
    ...each,
    spec: { ...each.spec!, replicas: 2 },
  }))
  await runAllPods(plane)
  assert.equal((await plane.list(pods)).length, 2)
  const patch = {
    metadata: { labels: { 'test-rs': 'patched' } },
    spec: { replicas: 3, template: { spec: { containers: [{ name: 'web', image: 'pause' }] } } },
  }
  await plane.run(plane.client.patch(replicaSets, at, { type: 'strategic', patch }))
  await plane.settle()
  await runAllPods(plane)
  const [set] = await plane.list(replicaSets)
  assert.deepEqual([set?.metadata.labels?.['test-rs'], set?.status?.availableReplicas], ['patched', 3])
})

test('a ReplicaSet has a working scale subresource', async t => {
  const plane = await start(t)
  await plane.create(replicaSets, setOf(1))
  await runAllPods(plane)
  const scaleAt = { ...at, subresource: 'scale' }
  const scale = await plane.run(plane.client.getSubresource<Scale>(replicaSets, scaleAt))
  assert.deepEqual([scale.spec?.replicas, scale.status?.replicas], [1, 1])
  await plane.run(
    plane.client.updateSubresource<Scale>(replicaSets, scaleAt, { ...scale, spec: { replicas: 2 } }),
  )
  await plane.settle()
  assert.equal((await plane.list(pods)).length, 2)
  const patch = { spec: { replicas: 4 } }
  await plane.run(plane.client.patch(replicaSets, scaleAt, { type: 'merge', patch }))
  await plane.settle()
  assert.equal((await plane.list(pods)).length, 4)
})

test('a ReplicaSet adopts matching pods and releases those that match no longer', async t => {
  const plane = await start(t)
  await plane.create(pods, orphan)
  await plane.create(replicaSets, setOf(1))
  assert.equal(await orphanOwner(plane), 'ReplicaSet')
  assert.equal((await plane.list(pods)).length, 1)
  await relabel(plane, orphan)
  assert.equal(await orphanOwner(plane), undefined)
  assert.equal((await plane.list(pods)).length, 2)
})

test('ReplicaSets are listed and deleted as a collection', async t => {
  const plane = await start(t)
  await plane.create(replicaSets, setOf(1))
  const selected = { namespace: 'default', labelSelector: 'name=web' }
  assert.equal((await plane.run(plane.client.list(replicaSets, selected))).items.length, 1)
  await plane.run(plane.client.deleteCollection(replicaSets, selected))
  assert.equal((await plane.list(replicaSets)).length, 0)
})

test('the status of a ReplicaSet is read, updated and patched', async t => {
  const plane = await start(t)
  await plane.create(replicaSets, setOf(1))
  await runAllPods(plane)
  const updated = { type: 'StatusUpdate', status: 'True', reason: 'E2E', message: 'Set from e2e test' }
  await plane.changeStatus(replicaSets, keyOf(setOf(1)), each => ({
    ...each,
    status: { ...each.status!, conditions: [updated] },
  }))
  const patch = { status: { conditions: [{ type: 'StatusPatched', status: 'True' }] } }
  const status = { ...at, subresource: 'status' }
  await plane.run(plane.client.patch(replicaSets, status, { type: 'strategic', patch }))
  await plane.settle()
  const [set] = await plane.list(replicaSets)
  const types = set?.status?.conditions?.map(({ type }) => type) ?? []
  assert.deepEqual(types.toSorted(), ['StatusPatched', 'StatusUpdate'])
  assert.equal(set?.status?.readyReplicas, 1)
})

test('a ReplicationController adopts matching pods and releases those that match no longer', async t => {
  const plane = await start(t)
  await plane.create(pods, orphan)
  await plane.create(replicationControllers, controllerOfPods(1))
  assert.equal(await orphanOwner(plane), 'ReplicationController')
  assert.equal((await plane.list(pods)).length, 1)
  await relabel(plane, orphan)
  assert.equal(await orphanOwner(plane), undefined)
  assert.equal((await plane.list(pods)).length, 2)
})

test('a ReplicationController is scaled through its subresource', async t => {
  const plane = await start(t)
  await plane.create(replicationControllers, controllerOfPods(1))
  await runAllPods(plane)
  const scaleAt = { ...at, subresource: 'scale' }
  const scale = await plane.run(plane.client.getSubresource<Scale>(replicationControllers, scaleAt))
  assert.deepEqual([scale.spec?.replicas, scale.status?.replicas], [1, 1])
  const more = { ...scale, spec: { replicas: 2 } }
  const answer = await plane.run(plane.client.updateSubresource<Scale>(replicationControllers, scaleAt, more))
  assert.equal(answer.spec?.replicas, 2)
  await plane.settle()
  await runAllPods(plane)
  assert.equal((await plane.list(pods)).length, 2)
})

test('a ReplicationController reports an exceeded quota until it requests fewer pods', async t => {
  const plane = await startTestControlPlane(t, [replicationControllerController], {
    admission: await usualAdmission(),
  })
  const hard = { pods: '2' }
  await plane.create(resourceQuotas, { metadata: { namespace: 'default', name: 'q' }, spec: { hard } })
  await plane.changeStatus(resourceQuotas, 'default/q', each => ({
    ...each,
    status: { hard, used: { pods: '0' } },
  }))
  await plane.create(replicationControllers, controllerOfPods(3))
  const failureOf = async (): Promise<string | undefined> => {
    const [controller] = await plane.list(replicationControllers)
    return controller?.status?.conditions?.find(({ type }) => type === 'ReplicaFailure')?.message
  }
  assert.match((await failureOf()) ?? '', /exceeded quota: q/)
  assert.equal((await plane.list(pods)).length, 2)
  await plane.change(replicationControllers, keyOf(setOf(1)), each => ({
    ...each,
    spec: { ...each.spec, replicas: 2 },
  }))
  assert.equal(await failureOf(), undefined)
})

test('a ReplicationController supports its lifecycle', async t => {
  const plane = await start(t)
  await plane.create(replicationControllers, controllerOfPods(1))
  await runAllPods(plane)
  const status = { ...at, subresource: 'status' }
  const zero = { status: { readyReplicas: 0, availableReplicas: 0 } }
  await plane.run(plane.client.patch(replicationControllers, status, { type: 'merge', patch: zero }))
  await plane.settle()
  const patch = { metadata: { labels: { 'test-rc': 'patched' } }, spec: { replicas: 2 } }
  await plane.run(plane.client.patch(replicationControllers, at, { type: 'strategic', patch }))
  await plane.settle()
  await runAllPods(plane)
  const selected = { namespace: 'default', labelSelector: 'test-rc=patched' }
  const { items } = await plane.run(plane.client.list(replicationControllers, selected))
  assert.deepEqual(
    items.map(each => [each.status?.readyReplicas, each.status?.availableReplicas]),
    [[2, 2]],
  )
  await plane.run(plane.client.deleteCollection(replicationControllers, selected))
  await plane.settle()
  assert.equal((await plane.list(replicationControllers)).length, 0)
  // Without a propagation policy the pods are orphaned.
  assert.deepEqual(
    (await plane.list(pods)).map(pod => pod.metadata.ownerReferences ?? []),
    [[], []],
  )
})
