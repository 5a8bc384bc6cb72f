import assert from 'node:assert/strict'
import { test } from 'node:test'
import { controllerRevisions, statefulSets } from '#/api/generated/apps/v1-resources.ts'
import type { StatefulSet, StatefulSetSpec } from '#/api/generated/apps/v1.ts'
import { events, persistentVolumeClaims, pods } from '#/api/generated/core/v1-resources.ts'
import type { PodTemplateSpec } from '#/api/generated/core/v1.ts'
import { keyOf, type KubernetesObject } from '#/api/metadata.ts'
import { statefulSetController } from './stateful-set.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'
import { runAllPods } from './test-pods.ts'
import { revisionNumbers, setReady, showPods } from './test-sets.ts'

function templateOf(image: string): PodTemplateSpec {
  return { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image }] } }
}

function setOf(spec: Partial<StatefulSetSpec> = {}): StatefulSet {
  return {
    metadata: { namespace: 'default', name: 'web' },
    spec: {
      replicas: 3,
      serviceName: 'web',
      selector: { matchLabels: { app: 'web' } },
      template: templateOf('one'),
      ...spec,
    },
  }
}

const dataClaim = {
  metadata: { name: 'data' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
}

/** `web-0 web-1*`: the existing pods, with a star if ready. */
function shown(plane: TestControlPlane): Promise<string> {
  return showPods(plane, pod => pod.metadata.name)
}

async function changeSpec(plane: TestControlPlane, spec: Partial<StatefulSetSpec>): Promise<void> {
  await plane.change(statefulSets, 'default/web', set => {
    return { ...set, spec: { ...setOf().spec!, ...set.spec, ...spec } }
  })
}

async function statusOf(plane: TestControlPlane): Promise<NonNullable<StatefulSet['status']>> {
  const [set] = await plane.list(statefulSets)
  return set!.status!
}

test('StatefulSet pods are created in order, each after the lower ordinals are ready, with an identity', async t => {
  const plane = await startTestControlPlane(t, [statefulSetController])
  await plane.create(statefulSets, setOf())
  assert.equal(await shown(plane), 'web-0')
  await plane.advance(60_000)
  assert.equal(await shown(plane), 'web-0')
  await setReady(plane, 'default/web-0')
  assert.equal(await shown(plane), 'web-0* web-1')
  await setReady(plane, 'default/web-0', 'False')
  await setReady(plane, 'default/web-1')
  assert.equal(await shown(plane), 'web-0 web-1*')
  await setReady(plane, 'default/web-0')
  assert.equal(await shown(plane), 'web-0* web-1* web-2')
  const second = (await plane.list(pods)).find(pod => pod.metadata.name === 'web-1')
  const { updateRevision = '', ...status } = await statusOf(plane)
  assert.deepEqual(second?.metadata.labels, {
    'app': 'web',
    'apps.kubernetes.io/pod-index': '1',
    'controller-revision-hash': updateRevision,
    'statefulset.kubernetes.io/pod-name': 'web-1',
  })
  assert.equal(second.spec?.hostname, 'web-1')
  assert.equal(second.spec?.subdomain, 'web')
  assert.equal(second.metadata.ownerReferences?.[0]?.controller, true)
  assert.deepEqual(status, {
    observedGeneration: 1,
    replicas: 3,
    readyReplicas: 2,
    currentReplicas: 3,
    updatedReplicas: 3,
    availableReplicas: 2,
    currentRevision: updateRevision,
    collisionCount: 0,
  })
  const recorded = (await plane.list(events)).map(({ reason, message }) => `${reason}: ${message}`)
  assert.ok(recorded.includes('SuccessfulCreate: Create Pod web-1 in StatefulSet web successful'))
})

test('a deleted StatefulSet pod is recreated under its name before other actions', async t => {
  const plane = await startTestControlPlane(t, [statefulSetController])
  await plane.create(statefulSets, setOf({ ordinals: { start: 5 } }))
  await runAllPods(plane)
  assert.equal(await shown(plane), 'web-5* web-6* web-7*')
  await plane.run(plane.client.delete(pods, { namespace: 'default', name: 'web-6' }))
  await plane.settle()
  assert.equal(await shown(plane), 'web-5* web-6 web-7*')
  await changeSpec(plane, { replicas: 4 })
  assert.equal(await shown(plane), 'web-5* web-6 web-7*')
  await changeSpec(plane, { ordinals: { start: 6 } })
  await runAllPods(plane)
  assert.equal(await shown(plane), 'web-6* web-7* web-8* web-9*')
})

test('the next StatefulSet pod is created after minReadySeconds', async t => {
  const plane = await startTestControlPlane(t, [statefulSetController])
  await plane.create(statefulSets, setOf({ minReadySeconds: 30 }))
  await setReady(plane, 'default/web-0')
  assert.equal(await shown(plane), 'web-0*')
  const { readyReplicas, availableReplicas } = await statusOf(plane)
  assert.deepEqual([readyReplicas, availableReplicas], [1, 0])
  await plane.advance(30_000)
  assert.equal(await shown(plane), 'web-0* web-1')
  assert.equal((await statusOf(plane)).availableReplicas, 1)
})

test('claims are created before their pods, retained and reused', async t => {
  const plane = await startTestControlPlane(t, [statefulSetController])
  await plane.create(statefulSets, setOf({ replicas: 2, volumeClaimTemplates: [dataClaim] }))
  await runAllPods(plane)
  const claimNames = async (): Promise<unknown> => {
    return (await plane.list(persistentVolumeClaims)).map(claim => claim.metadata.name)
  }
  assert.deepEqual(await claimNames(), ['data-web-0', 'data-web-1'])
  const [claim] = await plane.list(persistentVolumeClaims)
  assert.deepEqual(claim?.metadata.labels, { app: 'web' })
  assert.equal(claim.metadata.ownerReferences, undefined)
  const [first] = await plane.list(pods)
  assert.deepEqual(first?.spec?.volumes?.[0], {
    name: 'data',
    persistentVolumeClaim: { claimName: 'data-web-0' },
  })
  await changeSpec(plane, { replicas: 0 })
  assert.equal(await shown(plane), '')
  assert.deepEqual(await claimNames(), ['data-web-0', 'data-web-1'])
  await changeSpec(plane, { replicas: 1 })
  assert.equal(await shown(plane), 'web-0')
  const recorded = (await plane.list(events)).map(({ message }) => message)
  assert.ok(recorded.includes('Create Claim data-web-0 Pod web-0 in StatefulSet web success'))
})

test('the retention policy determines whether the set or the condemned pod owns a claim', async t => {
  const plane = await startTestControlPlane(t, [statefulSetController])
  const policy = { whenDeleted: 'Delete', whenScaled: 'Retain' }
  await plane.create(
    statefulSets,
    setOf({
      replicas: 2,
      volumeClaimTemplates: [dataClaim],
      persistentVolumeClaimRetentionPolicy: policy,
    }),
  )
  await runAllPods(plane)
  const owners = async (): Promise<unknown> => {
    const claims = await plane.list(persistentVolumeClaims)
    return claims.map(claim => claim.metadata.ownerReferences?.map(({ kind }) => kind).join() ?? '')
  }
  assert.deepEqual(await owners(), ['StatefulSet', 'StatefulSet'])
  await changeSpec(plane, {
    persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Delete' },
  })
  assert.deepEqual(await owners(), ['', ''])
  await changeSpec(plane, { replicas: 1 })
  assert.equal(await shown(plane), 'web-0*')
  assert.deepEqual(await owners(), ['', 'Pod'])
  await changeSpec(plane, { replicas: 2 })
  // The claim is deleted with its previous pod; a new pod must not use it.
  assert.equal(await shown(plane), 'web-0*')
  await plane.run(plane.client.delete(persistentVolumeClaims, { namespace: 'default', name: 'data-web-1' }))
  await plane.settle()
  assert.equal(await shown(plane), 'web-0* web-1')
  assert.deepEqual(await owners(), ['', ''])
})

test('a rolling update proceeds from the highest ordinal and completes in the status', async t => {
  const plane = await startTestControlPlane(t, [statefulSetController])
  await plane.create(statefulSets, setOf({ updateStrategy: { type: 'RollingUpdate' } }))
  await runAllPods(plane)
  const before = (await statusOf(plane)).currentRevision
  const images = async (): Promise<string> => {
    return (await plane.list(pods)).map(pod => pod.spec?.containers[0]?.image).join(' ')
  }
  await changeSpec(plane, { template: templateOf('two') })
  assert.equal(await images(), 'one one two')
  assert.equal(await shown(plane), 'web-0* web-1* web-2')
  const halfway = await statusOf(plane)
  assert.equal(halfway.currentRevision, before)
  assert.notEqual(halfway.updateRevision, before)
  assert.deepEqual([halfway.currentReplicas, halfway.updatedReplicas], [2, 1])
  // A pod deleted before it is due for the update is recreated with the old revision.
  await plane.run(plane.client.delete(pods, { namespace: 'default', name: 'web-0' }))
  await plane.settle()
  assert.equal(await images(), 'one one two')
  await setReady(plane, 'default/web-0')
  await setReady(plane, 'default/web-2')
  assert.equal(await images(), 'one two two')
  await runAllPods(plane)
  assert.equal(await images(), 'two two two')
  const after = await statusOf(plane)
  assert.equal(after.currentRevision, after.updateRevision)
  assert.deepEqual([after.currentReplicas, after.updatedReplicas], [3, 3])
  assert.deepEqual(await revisionNumbers(plane), [1, 2])
})

test('old revisions beyond revisionHistoryLimit are deleted', async t => {
  const plane = await startTestControlPlane(t, [statefulSetController])
  await plane.create(statefulSets, setOf({ replicas: 1, revisionHistoryLimit: 1 }))
  for (const image of ['two', 'three', 'four']) {
    await runAllPods(plane)
    await changeSpec(plane, { template: templateOf(image) })
  }
  await runAllPods(plane)
  assert.deepEqual(await revisionNumbers(plane), [3, 4])
  // Rolled back to a template that has no revision any more: a new revision is created.
  await changeSpec(plane, { template: templateOf('one') })
  await runAllPods(plane)
  assert.deepEqual(await revisionNumbers(plane), [4, 5])
})

test('an equivalent template triggers no update', async t => {
  const plane = await startTestControlPlane(t, [statefulSetController])
  const plain = templateOf('one')
  await plane.create(statefulSets, setOf({ replicas: 1, template: plain }))
  await runAllPods(plane)
  await changeSpec(plane, { template: { ...plain, spec: { ...plain.spec!, hostNetwork: false } } })
  assert.equal(await shown(plane), 'web-0*')
  assert.equal((await plane.list(controllerRevisions)).length, 1)
})

test('with OnDelete, pods are updated when they are deleted', async t => {
  const plane = await startTestControlPlane(t, [statefulSetController])
  await plane.create(statefulSets, setOf({ replicas: 2, updateStrategy: { type: 'OnDelete' } }))
  await runAllPods(plane)
  await changeSpec(plane, { template: templateOf('two') })
  assert.equal(await shown(plane), 'web-0* web-1*')
  await plane.run(plane.client.delete(pods, { namespace: 'default', name: 'web-0' }))
  await plane.settle()
  const images = (await plane.list(pods)).map(pod => pod.spec?.containers[0]?.image)
  assert.deepEqual(images, ['two', 'one'])
})

test('orphans with a StatefulSet pod name are adopted and get the identity labels', async t => {
  const plane = await startTestControlPlane(t, [statefulSetController])
  const { metadata, spec } = templateOf('one')
  for (const name of ['web-0', 'web-01', 'other-1'])
    await plane.create(pods, { metadata: { ...metadata, namespace: 'default', name }, spec: spec! })
  await plane.create(statefulSets, setOf({ replicas: 1 }))
  await setReady(plane, 'default/web-0')
  const all = await plane.list(pods)
  assert.deepEqual(
    all.map(pod => [pod.metadata.name, pod.metadata.labels?.['statefulset.kubernetes.io/pod-name']]),
    [
      ['other-1', undefined],
      ['web-0', 'web-0'],
      ['web-01', undefined],
    ],
  )
  assert.equal(all[1]?.metadata.ownerReferences?.[0]?.name, 'web')
})

test('a StatefulSet waits while a foreign pod has one of its pod names', async t => {
  const plane = await startTestControlPlane(t, [statefulSetController])
  const { spec } = templateOf('one')
  const stranger = await plane.create(pods, {
    metadata: { namespace: 'default', name: 'web-0', labels: { app: 'stranger' } },
    spec: spec!,
  })
  await plane.create(statefulSets, setOf({ replicas: 1 }))
  await plane.run(plane.client.delete(pods, { namespace: 'default', name: 'web-0' }))
  await plane.settle()
  const [pod] = await plane.list(pods)
  assert.notEqual(pod?.metadata.uid, stranger.metadata.uid)
  assert.equal(keyOf(pod!), 'default/web-0')
})

test('a StatefulSet being deleted creates and deletes nothing', async t => {
  const plane = await startTestControlPlane(t, [statefulSetController])
  await plane.create(statefulSets, setOf())
  await setReady(plane, 'default/web-0')
  const options = { propagationPolicy: 'Foreground' } as const
  await plane.run(plane.client.delete(statefulSets, { namespace: 'default', name: 'web' }, options))
  await plane.settle()
  await setReady(plane, 'default/web-1')
  assert.equal(await shown(plane), 'web-0* web-1*')
  assert.equal((await statusOf(plane)).readyReplicas, 2)
})

test('a recreated StatefulSet adopts orphaned pods and revisions', async t => {
  const plane = await startTestControlPlane(t, [statefulSetController])
  await plane.create(statefulSets, setOf({ replicas: 2 }))
  await runAllPods(plane)
  const uids = async (): Promise<unknown> => (await plane.list(pods)).map(pod => pod.metadata.uid)
  const before = await uids()
  const orphan = { propagationPolicy: 'Orphan' } as const
  await plane.run(plane.client.delete(statefulSets, { namespace: 'default', name: 'web' }, orphan))
  await plane.settle()
  const ownerless = <T extends KubernetesObject>(object: T): T => {
    const { ownerReferences: _owners, finalizers: _finalizers, ...metadata } = object.metadata
    return { ...object, metadata }
  }
  for (const pod of await plane.list(pods)) await plane.change(pods, keyOf(pod), ownerless)
  const [left] = await plane.list(controllerRevisions)
  await plane.change(controllerRevisions, keyOf(left!), ownerless)
  await plane.change(statefulSets, 'default/web', ownerless)
  assert.deepEqual(await plane.list(statefulSets), [])
  const { metadata } = await plane.create(statefulSets, setOf({ replicas: 2 }))
  const [revision, ...more] = await plane.list(controllerRevisions)
  assert.deepEqual([revision?.metadata.name, more.length], [left?.metadata.name, 0])
  assert.equal(revision?.metadata.ownerReferences?.[0]?.uid, metadata.uid)
  assert.deepEqual(await uids(), before)
  const status = await statusOf(plane)
  assert.deepEqual([status.readyReplicas, status.updatedReplicas], [2, 2])
})
