/** The conformance tests of storage that need no containers, written from their descriptions. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { persistentVolumeClaims, persistentVolumes } from '#/api/generated/core/v1-resources.ts'
import {
  csiDrivers,
  csiNodes,
  csiStorageCapacities,
  storageClasses,
  volumeAttachments,
  volumeAttributesClasses,
} from '#/api/generated/storage/v1-resources.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { apiVersionOf, type Resource } from '#/api/resource.ts'
import type { Client, PatchTarget } from '#/client/client.ts'
import { attachDetachController } from './attach-detach.ts'
import { hostPathProvisioner } from './host-path-provisioner.ts'
import { persistentVolumeBinderController } from './persistent-volume-binder.ts'
import { persistentVolumeClaimProtectionController } from './persistent-volume-claim-protection.ts'
import { persistentVolumeProtectionController } from './persistent-volume-protection.ts'
import { usualAdmission } from './test-admission.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'
import { claimOf, showVolumes, volumeOf } from './test-storage.ts'
import { volumeAttributesClassProtectionController } from './volume-attributes-class-protection.ts'

const provisioners = [hostPathProvisioner({ removeFolder: () => Promise.resolve() })]
const controllers = [
  persistentVolumeBinderController({ provisioners }),
  persistentVolumeProtectionController,
  persistentVolumeClaimProtectionController,
  volumeAttributesClassProtectionController,
  attachDetachController,
]

async function start(t: Parameters<typeof startTestControlPlane>[0]): Promise<TestControlPlane> {
  return startTestControlPlane(t, controllers, { admission: await usualAdmission() })
}

interface Kind {
  readonly resource: Resource
  readonly make: (name: string) => KubernetesObject
}

const csi = { driver: 'csi.example.com', volumeHandle: 'h' }

const kinds: Readonly<Record<string, Kind>> = {
  'PersistentVolumes, lifecycle': {
    resource: persistentVolumes,
    make: name => volumeOf(name, '1Gi', { csi }),
  },
  'PersistentVolumeClaims, lifecycle': {
    resource: persistentVolumeClaims,
    make: name => claimOf(name),
  },
  'StorageClass, lifecycle': {
    resource: storageClasses,
    make: name => ({ metadata: { name }, provisioner: 'csi.example.com' }),
  },
  'VolumeAttachment, lifecycle': {
    resource: volumeAttachments,
    make: name => ({
      metadata: { name },
      spec: { attacher: 'csi.example.com', nodeName: 'n1', source: { persistentVolumeName: name } },
    }),
  },
  'VolumeAttributesClass, lifecycle': {
    resource: volumeAttributesClasses,
    make: name => ({ metadata: { name }, driverName: 'csi.example.com', parameters: { iops: '1' } }),
  },
  'CSIDriver, lifecycle': {
    resource: csiDrivers,
    make: name => ({ metadata: { name }, spec: { attachRequired: false } }),
  },
  'CSINode, lifecycle': {
    resource: csiNodes,
    make: name => ({ metadata: { name }, spec: { drivers: [] } }),
  },
  'CSIStorageCapacity API': {
    resource: csiStorageCapacities,
    make: name => ({ metadata: { namespace: 'default', name }, storageClassName: 'fast', capacity: '1Gi' }),
  },
}

for (const [name, { resource, make }] of Object.entries(kinds)) {
  test(`${name}: create, read, list, patch, update, delete one and all`, async t => {
    const plane = await start(t)
    const { client } = plane
    const namespace = resource.scope === 'Namespaced' ? { namespace: 'default' } : {}
    const at = (each: string): PatchTarget => ({ ...namespace, name: each })
    const labelled = async (label: string): Promise<readonly unknown[]> => {
      const { items } = await plane.run(
        client.list(resource, { ...namespace, labelSelector: `stage=${label}` }),
      )
      return items.map(({ metadata }) => metadata.name)
    }
    const made = await plane.create(resource, make('first'))
    assert.equal(made.apiVersion, apiVersionOf(resource))
    const read = await plane.run(client.get(resource, at('first')))
    assert.equal(read.metadata.uid, made.metadata.uid)
    const patch = { metadata: { labels: { stage: 'patched' } } }
    await plane.run(client.patch(resource, at('first'), { type: 'merge', patch }))
    assert.deepEqual(await labelled('patched'), ['first'])
    await plane.run(client.delete(resource, at('first')))
    await plane.settle()
    assert.equal(await plane.run(client.find(resource, at('first'))), undefined)
    for (const each of ['second', 'third']) {
      const replacement = await plane.create(resource, make(each))
      assert.notEqual(replacement.metadata.uid, made.metadata.uid)
      await plane.change(resource, 'namespace' in namespace ? `default/${each}` : each, object => ({
        ...object,
        metadata: { ...object.metadata, labels: { stage: 'updated' } },
      }))
    }
    assert.deepEqual(await labelled('updated'), ['second', 'third'])
    await plane.run(client.deleteCollection(resource, { ...namespace, labelSelector: 'stage=updated' }))
    await plane.settle()
    assert.deepEqual(await plane.list(resource), [])
  })
}

async function patchStatus(
  plane: TestControlPlane,
  resource: Parameters<Client['patch']>[0],
  at: PatchTarget,
  status: object,
): Promise<void> {
  const address = { ...at, subresource: 'status' }
  await plane.run(plane.client.patch(resource, address, { type: 'merge', patch: { status } }))
  await plane.settle()
}

test('PersistentVolumes(Claims), lifecycle: bound, then the claim and the volume are deleted', async t => {
  const plane = await start(t)
  await plane.create(persistentVolumes, volumeOf('v', '1Gi', { csi, storageClassName: 'c' }))
  await plane.create(persistentVolumeClaims, claimOf('data', '1Gi', { storageClassName: 'c' }))
  assert.equal(await showVolumes(plane), 'v:Bound>data')
  await plane.run(plane.client.deleteCollection(persistentVolumes))
  await plane.settle()
  assert.equal(await showVolumes(plane), 'v:Bound>data')
  await plane.run(plane.client.deleteCollection(persistentVolumeClaims, { namespace: 'default' }))
  await plane.settle()
  assert.deepEqual([await plane.list(persistentVolumes), await plane.list(persistentVolumeClaims)], [[], []])
})

test('PersistentVolumes(Claims), apply changes to a pv/pvc status', async t => {
  const plane = await start(t)
  await plane.create(persistentVolumes, volumeOf('v', '1Gi', { csi, storageClassName: 'c' }))
  await plane.create(persistentVolumeClaims, claimOf('data', '1Gi', { storageClassName: 'c' }))
  const claimAt = { namespace: 'default', name: 'data' }
  const claim = async () => plane.run(plane.client.get(persistentVolumeClaims, claimAt))
  const volume = async () => plane.run(plane.client.get(persistentVolumes, { name: 'v' }))
  assert.deepEqual([(await claim()).status?.phase, (await volume()).status?.phase], ['Bound', 'Bound'])
  const patched = {
    type: 'StatusPatched',
    status: 'True',
    reason: 'E2E patchedStatus',
    message: 'Set by e2e test',
  }
  await patchStatus(plane, persistentVolumeClaims, claimAt, { conditions: [patched] })
  await patchStatus(plane, persistentVolumes, { name: 'v' }, { message: 'StatusPatched', reason: 'E2E' })
  assert.deepEqual((await claim()).status?.conditions, [patched])
  assert.deepEqual(
    [(await volume()).status?.message, (await volume()).status?.reason],
    ['StatusPatched', 'E2E'],
  )
  const updated = { ...patched, type: 'StatusUpdate' }
  await plane.changeStatus(persistentVolumeClaims, 'default/data', each => ({
    ...each,
    status: { ...each.status, conditions: [...(each.status?.conditions ?? []), updated] },
  }))
  await plane.changeStatus(persistentVolumes, 'v', each => ({
    ...each,
    status: { ...each.status, message: 'StatusUpdated' },
  }))
  assert.deepEqual((await claim()).status?.conditions, [patched, updated])
  const { phase, message, reason } = (await volume()).status ?? {}
  assert.deepEqual({ phase, message, reason }, { phase: 'Bound', message: 'StatusUpdated', reason: 'E2E' })
})

test('VolumeAttachment, apply changes to a volumeattachment status', async t => {
  const plane = await start(t)
  await plane.create(volumeAttachments, {
    metadata: { name: 'attachment' },
    spec: { attacher: 'csi.example.com', nodeName: 'n1', source: { persistentVolumeName: 'v' } },
  })
  const isAttached = async (): Promise<unknown> => {
    return (await plane.run(plane.client.get(volumeAttachments, { name: 'attachment' }))).status?.attached
  }
  assert.equal(await isAttached(), false)
  await patchStatus(plane, volumeAttachments, { name: 'attachment' }, { attached: true })
  assert.equal(await isAttached(), true)
  await plane.changeStatus(volumeAttachments, 'attachment', each => ({
    ...each,
    status: { attached: false },
  }))
  assert.equal(await isAttached(), false)
  await plane.run(plane.client.delete(volumeAttachments, { name: 'attachment' }))
  assert.deepEqual(await plane.list(volumeAttachments), [])
})
