import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodes, persistentVolumeClaims, persistentVolumes, pods } from '#/api/generated/core/v1-resources.ts'
import type { PersistentVolume, PersistentVolumeSpec } from '#/api/generated/core/v1.ts'
import { storageClasses } from '#/api/generated/storage/v1-resources.ts'
import { persistentVolumeBinderController } from './persistent-volume-binder.ts'
import type { Provisioner } from './shared/provisioner.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'
import {
  claimOf,
  classOf,
  eventsAbout,
  nodeOf,
  podWithClaims,
  showClaims,
  showVolumes,
  volumeOf,
} from './test-storage.ts'

const binder = persistentVolumeBinderController()

async function remove(plane: TestControlPlane, claim: string): Promise<void> {
  await plane.run(plane.client.delete(persistentVolumeClaims, { namespace: 'default', name: claim }))
  await plane.settle()
}

test('a claim is bound to the smallest matching volume', async t => {
  const plane = await startTestControlPlane(t, [binder])
  await plane.create(persistentVolumes, volumeOf('large', '10Gi'))
  await plane.create(persistentVolumes, volumeOf('middle', '5Gi'))
  await plane.create(persistentVolumes, volumeOf('small', '1Gi'))
  assert.equal(await showVolumes(plane), 'large:Available middle:Available small:Available')
  const made = await plane.create(persistentVolumeClaims, claimOf('data', '2Gi'))
  assert.equal(await showClaims(plane), 'data:Bound>middle')
  assert.equal(await showVolumes(plane), 'large:Available middle:Bound>data small:Available')
  const [claim] = await plane.list(persistentVolumeClaims)
  assert.deepEqual(claim?.status, {
    phase: 'Bound',
    accessModes: ['ReadWriteOnce'],
    capacity: { storage: '5Gi' },
  })
  assert.deepEqual(claim?.metadata.annotations, {
    'pv.kubernetes.io/bind-completed': 'yes',
    'pv.kubernetes.io/bound-by-controller': 'yes',
  })
  const volume = (await plane.list(persistentVolumes)).find(({ metadata }) => metadata.name === 'middle')
  assert.deepEqual(volume?.metadata.annotations, { 'pv.kubernetes.io/bound-by-controller': 'yes' })
  const { resourceVersion, ...reference } = volume?.spec?.claimRef ?? {}
  assert.deepEqual(reference, {
    kind: 'PersistentVolumeClaim',
    apiVersion: 'v1',
    namespace: 'default',
    name: 'data',
    uid: made.metadata.uid,
  })
  assert.equal(resourceVersion, made.metadata.resourceVersion)
})

test('a pending claim records an event and takes the next matching volume', async t => {
  const plane = await startTestControlPlane(t, [binder])
  await plane.create(persistentVolumeClaims, claimOf('data'))
  assert.equal(await showClaims(plane), 'data:Pending')
  assert.deepEqual(await eventsAbout(plane, 'data'), [
    'FailedBinding: no persistent volumes available for this claim and no storage class is set',
  ])
  await plane.create(persistentVolumes, volumeOf('v'))
  assert.equal(await showClaims(plane), 'data:Bound>v')
})

test('a released volume with policy Retain is kept until its claimRef is removed', async t => {
  const plane = await startTestControlPlane(t, [binder])
  await plane.create(persistentVolumes, volumeOf('v'))
  await plane.create(persistentVolumeClaims, claimOf('first'))
  await remove(plane, 'first')
  assert.equal(await showVolumes(plane), 'v:Released>first')
  await plane.create(persistentVolumeClaims, claimOf('first'))
  assert.equal(await showClaims(plane), 'first:Pending')
  await plane.change(persistentVolumes, 'v', volume => {
    const { claimRef: _, ...spec } = volume.spec ?? {}
    return { ...volume, spec }
  })
  assert.equal(await showClaims(plane), 'first:Bound>v')
})

test('unsupported reclaim policies end in phase Failed', async t => {
  const plane = await startTestControlPlane(t, [binder])
  for (const [name, policy] of Object.entries({ recycled: 'Recycle', deleted: 'Delete' })) {
    const spec = { persistentVolumeReclaimPolicy: policy, storageClassName: name }
    await plane.create(persistentVolumes, volumeOf(name, '1Gi', spec))
    await plane.create(persistentVolumeClaims, claimOf(name, '1Gi', { storageClassName: name }))
    await remove(plane, name)
  }
  assert.equal(await showVolumes(plane), 'deleted:Failed>deleted recycled:Failed>recycled')
  assert.deepEqual(await eventsAbout(plane, 'recycled'), [
    'VolumeFailedRecycle: No recycler plugin found for the volume!',
  ])
  assert.ok(
    (await eventsAbout(plane, 'deleted')).includes(
      'VolumeFailedDelete: error getting deleter volume plugin for volume "deleted": ' +
        'no deletable volume plugin matched',
    ),
  )
})

test('volumes of an external provisioner are not reclaimed here', async t => {
  const plane = await startTestControlPlane(t, [binder])
  const csi = { driver: 'csi.example.com', volumeHandle: 'h' }
  const annotations = { 'pv.kubernetes.io/provisioned-by': 'csi.example.com' }
  const spec = { csi, persistentVolumeReclaimPolicy: 'Delete' }
  await plane.create(persistentVolumes, volumeOf('v', '1Gi', spec, { annotations }))
  await plane.create(persistentVolumeClaims, claimOf('data'))
  await remove(plane, 'data')
  assert.equal(await showVolumes(plane), 'v:Released>data')
})

test('a pre-bound claim and volume are bound, in either order of creation', async t => {
  for (const isClaimFirst of [true, false]) {
    const plane = await startTestControlPlane(t, [binder])
    await plane.create(persistentVolumes, volumeOf('other', '1Gi'))
    const volume = volumeOf('kept', '5Gi', { claimRef: { namespace: 'default', name: 'data' } })
    const claim = claimOf('data', '1Gi', { volumeName: 'kept' })
    if (isClaimFirst) await plane.create(persistentVolumeClaims, claim)
    await plane.create(persistentVolumes, volume)
    if (!isClaimFirst) {
      assert.equal(await showVolumes(plane), 'kept:Available>data other:Available')
      await plane.create(persistentVolumeClaims, claim)
    }
    assert.equal(await showClaims(plane), 'data:Bound>kept')
    const [made] = await plane.list(persistentVolumeClaims)
    assert.deepEqual(made?.metadata.annotations, { 'pv.kubernetes.io/bind-completed': 'yes' })
    // Pre-bound by the user: the volume stays reserved for a claim of that name.
    await remove(plane, 'data')
    assert.equal(await showVolumes(plane), 'kept:Released>data other:Available')
  }
})

test('a claim that names a mismatching volume gets an event', async t => {
  const plane = await startTestControlPlane(t, [binder])
  await plane.create(persistentVolumes, volumeOf('small', '1Gi'))
  await plane.create(persistentVolumeClaims, claimOf('data', '2Gi', { volumeName: 'small' }))
  assert.equal(await showClaims(plane), 'data:Pending>small')
  assert.deepEqual(await eventsAbout(plane, 'data'), [
    'VolumeMismatch: Cannot bind to requested volume "small": requested PV is too small',
  ])
  await plane.create(persistentVolumeClaims, claimOf('modest', '1Gi', { volumeName: 'small' }))
  assert.equal(await showClaims(plane), 'data:Pending>small modest:Bound>small')
  await plane.create(persistentVolumeClaims, claimOf('late', '1Gi', { volumeName: 'small' }))
  assert.deepEqual(await eventsAbout(plane, 'late'), [
    'FailedBinding: volume "small" already bound to a different claim.',
  ])
})

test('a claim whose volume is deleted is Lost, and Bound when it returns', async t => {
  const plane = await startTestControlPlane(t, [binder])
  await plane.create(persistentVolumes, volumeOf('v'))
  const claim = await plane.create(persistentVolumeClaims, claimOf('data'))
  await plane.run(plane.client.delete(persistentVolumes, { name: 'v' }))
  await plane.settle()
  assert.equal(await showClaims(plane), 'data:Lost>v')
  const [lost] = await plane.list(persistentVolumeClaims)
  assert.deepEqual(lost?.status, { phase: 'Lost' })
  assert.ok(
    (await eventsAbout(plane, 'data')).includes(
      'ClaimLost: Bound claim has lost its PersistentVolume. Data on the volume is lost!',
    ),
  )
  const { uid } = claim.metadata
  const claimRef = { namespace: 'default', name: 'data', uid: uid }
  await plane.create(persistentVolumes, volumeOf('v', '1Gi', { claimRef }))
  assert.equal(await showClaims(plane), 'data:Bound>v')
})

test('a claim without a class gets the default storage class when it exists', async t => {
  const plane = await startTestControlPlane(t, [binder])
  await plane.create(persistentVolumeClaims, claimOf('data'))
  await plane.create(persistentVolumeClaims, claimOf('none', '1Gi', { storageClassName: '' }))
  const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' }
  await plane.create(storageClasses, classOf('late', { metadata: { name: 'late', annotations } }))
  const claims = await plane.list(persistentVolumeClaims)
  assert.deepEqual(
    claims.map(({ metadata, spec }) => [metadata.name, spec?.storageClassName]),
    [
      ['data', 'late'],
      ['none', ''],
    ],
  )
  const data = claims.find(({ metadata }) => metadata.name === 'data')
  assert.deepEqual(data?.metadata.annotations, {
    'volume.beta.kubernetes.io/storage-provisioner': 'csi.example.com',
    'volume.kubernetes.io/storage-provisioner': 'csi.example.com',
  })
  const told = await eventsAbout(plane, 'data')
  assert.ok(
    told.includes(
      "ExternalProvisioning: Waiting for a volume to be created either by the external provisioner 'csi.example.com' " +
        'or manually by the system administrator. If volume creation is delayed, please verify that the provisioner ' +
        'is running and correctly registered.',
    ),
    told.join('\n'),
  )
})

test('a claim is bound to the volume of an external provisioner', async t => {
  const plane = await startTestControlPlane(t, [binder])
  await plane.create(storageClasses, classOf('fast'))
  const claim = await plane.create(
    persistentVolumeClaims,
    claimOf('data', '1Gi', { storageClassName: 'fast' }),
  )
  const { namespace, name, uid } = claim.metadata
  const volume = volumeOf('pvc-1', '1Gi', {
    storageClassName: 'fast',
    claimRef: { namespace: namespace!, name: name, uid: uid },
  })
  await plane.create(persistentVolumes, volume)
  assert.equal(await showClaims(plane), 'data:Bound>pvc-1')
  assert.equal(await showVolumes(plane), 'pvc-1:Bound>data')
})

test('WaitForFirstConsumer records what the claim waits for', async t => {
  const plane = await startTestControlPlane(t, [binder])
  await plane.create(nodes, nodeOf('n1'))
  await plane.create(persistentVolumes, volumeOf('v', '1Gi', { storageClassName: 'lazy' }))
  await plane.create(storageClasses, classOf('lazy', { volumeBindingMode: 'WaitForFirstConsumer' }))
  await plane.create(persistentVolumeClaims, claimOf('data', '1Gi', { storageClassName: 'lazy' }))
  assert.equal(await showClaims(plane), 'data:Pending')
  await plane.create(pods, podWithClaims('web', ['data']))
  assert.deepEqual(await eventsAbout(plane, 'data'), [
    'WaitForFirstConsumer: waiting for first consumer to be created before binding',
    'WaitForPodScheduled: waiting for pod web to be scheduled',
  ])
  await plane.change(persistentVolumeClaims, 'default/data', claim => ({
    ...claim,
    metadata: { ...claim.metadata, annotations: { 'volume.kubernetes.io/selected-node': 'n1' } },
  }))
  assert.match((await eventsAbout(plane, 'data')).at(-1) ?? '', /^ExternalProvisioning: /)
})

test('an unknown provisioner or missing storage class gives an event', async t => {
  const plane = await startTestControlPlane(t, [binder])
  await plane.create(storageClasses, classOf('local', { provisioner: 'kubernetes.io/no-provisioner' }))
  await plane.create(persistentVolumeClaims, claimOf('a', '1Gi', { storageClassName: 'local' }))
  await plane.create(persistentVolumeClaims, claimOf('b', '1Gi', { storageClassName: 'missing' }))
  assert.deepEqual(await eventsAbout(plane, 'a'), [
    'ProvisioningFailed: no volume plugin matched name: kubernetes.io/no-provisioner',
  ])
  assert.deepEqual(await eventsAbout(plane, 'b'), [
    'ProvisioningFailed: storageclass.storage.k8s.io "missing" not found',
  ])
})

/** A provisioner that succeeds unless the test overrides it. */
function provisionerOf(spec: PersistentVolumeSpec, fields: Partial<Provisioner> = {}): Provisioner {
  return {
    name: 'example.com/own',
    supportsMountOptions: true,
    provision: () => Promise.resolve({ spec: { accessModes: ['ReadWriteOnce'], ...spec } }),
    delete: () => Promise.resolve(),
    ...fields,
  }
}

test('provisioned storage is deleted if the PersistentVolume cannot be created', async t => {
  const deleted: unknown[] = []
  const fail = async ({ metadata }: PersistentVolume): Promise<void> => {
    deleted.push(metadata.name)
    throw new Error('stuck')
  }
  // A volume without capacity is invalid.
  const provisioner = provisionerOf({ nfs: { server: 's', path: '/p' } }, { delete: fail })
  const plane = await startTestControlPlane(t, [
    persistentVolumeBinderController({ provisioners: [provisioner] }),
  ])
  await plane.create(storageClasses, classOf('own', { provisioner: 'example.com/own' }))
  const claim = await plane.create(
    persistentVolumeClaims,
    claimOf('data', '1Gi', { storageClassName: 'own' }),
  )
  assert.equal(deleted[0], `pvc-${claim.metadata.uid}`)
  const told = await eventsAbout(plane, 'data')
  assert.match(
    told.find(text => text.startsWith('ProvisioningFailed')) ?? '',
    /^ProvisioningFailed: Error creating provisioned PV object for claim default\/data: .*\. Deleting the volume\.$/,
  )
  assert.ok(
    told.includes(
      'ProvisioningCleanupFailed: Error cleaning provisioned volume for claim default/data: stuck. ' +
        'Please delete manually.',
    ),
  )
})

test('volumeBindingMode Immediate provisions at once', async t => {
  const spec = { capacity: { storage: '4Gi' }, nfs: { server: 's', path: '/p' } }
  const provisioners = [provisionerOf(spec)]
  const plane = await startTestControlPlane(t, [persistentVolumeBinderController({ provisioners })])
  const own = classOf('own', {
    provisioner: 'example.com/own',
    reclaimPolicy: 'Retain',
    mountOptions: ['ro'],
  })
  await plane.create(storageClasses, own)
  const claim = await plane.create(
    persistentVolumeClaims,
    claimOf('data', '3Gi', { storageClassName: 'own' }),
  )
  const name = `pvc-${claim.metadata.uid}`
  assert.equal(await showClaims(plane), `data:Bound>${name}`)
  const [volume] = await plane.list(persistentVolumes)
  assert.deepEqual(
    [
      volume?.spec?.persistentVolumeReclaimPolicy,
      volume?.spec?.storageClassName,
      volume?.metadata.finalizers,
    ],
    ['Retain', 'own', undefined],
  )
})
