import assert from 'node:assert/strict'
import { test } from 'node:test'
import { persistentVolumeClaims, persistentVolumes, pods } from '#/api/generated/core/v1-resources.ts'
import { volumeAttributesClasses } from '#/api/generated/storage/v1-resources.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import { ephemeralVolumeController } from './ephemeral-volume.ts'
import { persistentVolumeBinderController } from './persistent-volume-binder.ts'
import { persistentVolumeClaimProtectionController } from './persistent-volume-claim-protection.ts'
import { persistentVolumeProtectionController } from './persistent-volume-protection.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'
import { claimOf, eventsAbout, podWithClaims, showVolumes, volumeOf } from './test-storage.ts'
import { volumeAttributesClassProtectionController } from './volume-attributes-class-protection.ts'

const controllers = [
  persistentVolumeBinderController(),
  persistentVolumeProtectionController,
  persistentVolumeClaimProtectionController,
  volumeAttributesClassProtectionController,
  ephemeralVolumeController,
]

async function remove(
  plane: TestControlPlane,
  resource: Resource,
  name: string,
  gracePeriodSeconds?: number,
): Promise<void> {
  const at = { name, ...(resource.scope === 'Namespaced' && { namespace: 'default' }) }
  const grace = gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }
  await plane.run(plane.client.delete(resource, at, grace))
  await plane.settle()
}

async function namesOf<T extends KubernetesObject>(
  plane: TestControlPlane,
  resource: Resource<T>,
): Promise<readonly unknown[]> {
  return (await plane.list(resource)).map(({ metadata }) => metadata.name)
}

test('objects without the protection finalizer get it', async t => {
  const plane = await startTestControlPlane(t, controllers)
  await plane.create(persistentVolumes, volumeOf('v'))
  await plane.create(persistentVolumeClaims, claimOf('data', '2Gi'))
  await plane.create(volumeAttributesClasses, {
    metadata: { name: 'gold' },
    driverName: 'd',
    parameters: { a: 'b' },
  })
  const objects = [
    ...(await plane.list(persistentVolumes)),
    ...(await plane.list(persistentVolumeClaims)),
    ...(await plane.list(volumeAttributesClasses)),
  ]
  assert.deepEqual(
    objects.map(({ metadata }) => metadata.finalizers),
    [['kubernetes.io/pv-protection'], ['kubernetes.io/pvc-protection'], ['kubernetes.io/vac-protection']],
  )
  for (const [resource, name] of [
    [persistentVolumes, 'v'],
    [persistentVolumeClaims, 'data'],
    [volumeAttributesClasses, 'gold'],
  ] as const) {
    await remove(plane, resource, name)
    assert.deepEqual(await plane.list<KubernetesObject>(resource), [])
  }
})

test('a claim in use by a bound pod and a bound volume are not deleted', async t => {
  const plane = await startTestControlPlane(t, controllers)
  await plane.create(persistentVolumes, volumeOf('v'))
  await plane.create(persistentVolumeClaims, claimOf('data'))
  await plane.create(pods, podWithClaims('web', ['data'], { nodeName: 'n1' }))
  await plane.create(pods, podWithClaims('waiting', ['data']))
  await remove(plane, persistentVolumes, 'v')
  await remove(plane, persistentVolumeClaims, 'data')
  assert.deepEqual(await namesOf(plane, persistentVolumeClaims), ['data'])
  assert.equal(await showVolumes(plane), 'v:Bound>data')
  await plane.changeStatus(pods, 'default/web', pod => ({ ...pod, status: { phase: 'Succeeded' } }))
  assert.deepEqual(await namesOf(plane, persistentVolumeClaims), ['data'], 'it is used until the pod is gone')
  await remove(plane, pods, 'web', 0)
  assert.deepEqual(await namesOf(plane, persistentVolumeClaims), [])
  assert.deepEqual(await namesOf(plane, persistentVolumes), [])
})

test('a VolumeAttributesClass in use by a claim is not deleted', async t => {
  const plane = await startTestControlPlane(t, controllers)
  const csi = { driver: 'd', volumeHandle: 'h' }
  for (const name of ['silver', 'gold'])
    await plane.create(volumeAttributesClasses, {
      metadata: { name },
      driverName: 'd',
      parameters: { a: name },
    })
  await plane.create(persistentVolumes, volumeOf('v', '1Gi', { csi, volumeAttributesClassName: 'silver' }))
  await plane.create(persistentVolumeClaims, claimOf('data', '1Gi', { volumeAttributesClassName: 'silver' }))
  await plane.change(persistentVolumeClaims, 'default/data', claim => ({
    ...claim,
    spec: { ...claim.spec, volumeAttributesClassName: 'gold' },
  }))
  const [claim] = await plane.list(persistentVolumeClaims)
  assert.equal(claim?.status?.currentVolumeAttributesClassName, 'silver')
  for (const name of ['silver', 'gold']) await remove(plane, volumeAttributesClasses, name)
  assert.deepEqual(await namesOf(plane, volumeAttributesClasses), ['gold', 'silver'])
  // Acts as the CSI driver's external resizer after it has modified the volume.
  await plane.change(persistentVolumes, 'v', volume => ({
    ...volume,
    spec: { ...volume.spec, volumeAttributesClassName: 'gold' },
  }))
  await plane.changeStatus(persistentVolumeClaims, 'default/data', each => ({
    ...each,
    status: { ...each.status, currentVolumeAttributesClassName: 'gold' },
  }))
  assert.deepEqual(await namesOf(plane, volumeAttributesClasses), ['gold'])
  await remove(plane, persistentVolumeClaims, 'data')
  await remove(plane, persistentVolumes, 'v')
  assert.deepEqual(await namesOf(plane, volumeAttributesClasses), [])
})

const scratch = {
  name: 'scratch',
  ephemeral: {
    volumeClaimTemplate: {
      metadata: { labels: { of: 'web' }, annotations: { note: 'x' } },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    },
  },
}

test('a pod with an ephemeral volume gets its own claim', async t => {
  const plane = await startTestControlPlane(t, controllers)
  const pod = await plane.create(pods, podWithClaims('web', [], { volumes: [scratch], nodeName: 'n1' }))
  const [claim] = await plane.list(persistentVolumeClaims)
  const { name, labels, annotations, ownerReferences } = claim?.metadata ?? {}
  assert.deepEqual([name, labels, annotations], ['web-scratch', { of: 'web' }, { note: 'x' }])
  const { uid } = pod.metadata
  assert.deepEqual(ownerReferences, [
    { apiVersion: 'v1', kind: 'Pod', name: 'web', uid, controller: true, blockOwnerDeletion: true },
  ])
  await remove(plane, persistentVolumeClaims, 'web-scratch')
  assert.deepEqual(await namesOf(plane, persistentVolumeClaims), ['web-scratch'], 'it is used')
  // The kubelet has stopped the pod; only finalizers keep it.
  await plane.change(pods, 'default/web', each => ({
    ...each,
    metadata: { ...each.metadata, finalizers: ['example.com/keep'] },
  }))
  await remove(plane, pods, 'web', 0)
  assert.deepEqual(await namesOf(plane, pods), ['web'])
  assert.deepEqual(await namesOf(plane, persistentVolumeClaims), [])
})

test('a foreign claim with the name of an ephemeral volume blocks its creation', async t => {
  const plane = await startTestControlPlane(t, controllers)
  await plane.create(persistentVolumeClaims, claimOf('web-scratch', '5Gi'))
  await plane.create(pods, podWithClaims('web', [], { volumes: [scratch], nodeName: 'n1' }))
  assert.deepEqual(await eventsAbout(plane, 'web'), [
    'FailedBinding: ephemeral volume scratch: ' +
      'PVC default/web-scratch was not created for pod default/web (pod is not owner)',
  ])
  await remove(plane, persistentVolumeClaims, 'web-scratch')
  const [claim] = await plane.list(persistentVolumeClaims)
  assert.equal(claim?.metadata.ownerReferences?.[0]?.name, 'web')
})
