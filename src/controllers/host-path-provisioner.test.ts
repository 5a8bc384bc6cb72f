import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodes, persistentVolumeClaims, persistentVolumes, pods } from '#/api/generated/core/v1-resources.ts'
import type { PersistentVolumeClaim } from '#/api/generated/core/v1.ts'
import { storageClasses } from '#/api/generated/storage/v1-resources.ts'
import type { StorageClass } from '#/api/generated/storage/v1.ts'
import { ensureDefaultStorageClass } from './default-storage-class.ts'
import { hostPathProvisioner } from './host-path-provisioner.ts'
import { persistentVolumeBinderController } from './persistent-volume-binder.ts'
import { persistentVolumeClaimProtectionController } from './persistent-volume-claim-protection.ts'
import { persistentVolumeProtectionController } from './persistent-volume-protection.ts'
import { usualAdmission } from './test-admission.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'
import {
  claimOf,
  classOf,
  eventsAbout,
  nodeOf,
  podWithClaims,
  showClaims,
  showVolumes,
} from './test-storage.ts'

interface Setting {
  readonly plane: TestControlPlane
  /** `node:path` of every removed directory. */
  readonly removed: string[]
  /** Selects a node for the claim, as the scheduler does. */
  readonly select: (claim: string, node: string) => Promise<void>
  /** Error message of directory removal; succeeds if undefined. */
  readonly trouble: { message?: string }
}

async function start(t: Parameters<typeof startTestControlPlane>[0]): Promise<Setting> {
  const removed: string[] = []
  const trouble: Setting['trouble'] = {}
  const provisioner = hostPathProvisioner({
    removeFolder: async (path, node) => {
      if (trouble.message) throw new Error(trouble.message)
      removed.push(`${node}:${path}`)
    },
  })
  const plane = await startTestControlPlane(
    t,
    [
      persistentVolumeBinderController({ provisioners: [provisioner] }),
      persistentVolumeProtectionController,
      persistentVolumeClaimProtectionController,
    ],
    { admission: await usualAdmission() },
  )
  await plane.run(ensureDefaultStorageClass(plane.client))
  await plane.create(nodes, nodeOf('n1'))
  const select: Setting['select'] = async (claim, node) => {
    await plane.change(persistentVolumeClaims, `default/${claim}`, each => selecting(each, node))
  }
  return { plane, removed, select, trouble }
}

function selecting(claim: PersistentVolumeClaim, node: string): PersistentVolumeClaim {
  const annotations = { ...claim.metadata.annotations, 'volume.kubernetes.io/selected-node': node }
  return { ...claim, metadata: { ...claim.metadata, annotations } }
}

test('a claim gets a directory on the node of its first pod, deleted with the claim', async t => {
  const { plane, removed, select } = await start(t)
  const claim = await plane.create(persistentVolumeClaims, claimOf('data', '3Gi'))
  assert.equal(claim.spec?.storageClassName, 'standard')
  assert.equal(await showClaims(plane), 'data:Pending')
  await plane.create(pods, podWithClaims('web', ['data']))
  await select('data', 'n1')
  const name = `pvc-${claim.metadata.uid}`
  assert.equal(await showClaims(plane), `data:Bound>${name}`)
  assert.equal(await showVolumes(plane), `${name}:Bound>data`)
  const [volume] = await plane.list(persistentVolumes)
  const { claimRef: _, ...spec } = volume?.spec ?? {}
  const path = `/var/lib/k8ts/volumes/${name}`
  const onNode = { key: 'kubernetes.io/hostname', operator: 'In', values: ['n1'] }
  assert.deepEqual(spec, {
    accessModes: ['ReadWriteOnce'],
    capacity: { storage: '3Gi' },
    hostPath: { path, type: 'DirectoryOrCreate' },
    nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [onNode] }] } },
    persistentVolumeReclaimPolicy: 'Delete',
    storageClassName: 'standard',
    volumeMode: 'Filesystem',
  })
  assert.deepEqual(volume?.metadata.annotations, {
    'pv.kubernetes.io/bound-by-controller': 'yes',
    'pv.kubernetes.io/provisioned-by': 'k8ts.io/host-path',
  })
  assert.deepEqual(volume?.metadata.finalizers?.toSorted(), [
    'kubernetes.io/pv-controller',
    'kubernetes.io/pv-protection',
  ])
  assert.ok(
    (await eventsAbout(plane, 'data')).includes(
      `ProvisioningSucceeded: Successfully provisioned volume ${name} using k8ts.io/host-path`,
    ),
  )
  await plane.run(plane.client.delete(pods, { namespace: 'default', name: 'web' }))
  await plane.run(plane.client.delete(persistentVolumeClaims, { namespace: 'default', name: 'data' }))
  await plane.settle()
  assert.deepEqual(await plane.list(persistentVolumes), [])
  assert.deepEqual(removed, [`n1:${path}`])
})

test('a volume whose directory cannot be deleted is Failed until it can', async t => {
  const { plane, removed, select, trouble } = await start(t)
  trouble.message = 'node n1 does not answer'
  const claim = await plane.create(persistentVolumeClaims, claimOf('data'))
  await select('data', 'n1')
  await plane.run(plane.client.delete(persistentVolumeClaims, { namespace: 'default', name: 'data' }))
  await plane.settle()
  const name = `pvc-${claim.metadata.uid}`
  assert.equal(await showVolumes(plane), `${name}:Failed>data`)
  const [volume] = await plane.list(persistentVolumes)
  assert.equal(volume?.status?.message, 'node n1 does not answer')
  assert.ok((await eventsAbout(plane, name)).includes('VolumeFailedDelete: node n1 does not answer'))
  // Deleting the PersistentVolume does not bypass the reclaim.
  await plane.run(plane.client.delete(persistentVolumes, { name }))
  await plane.settle()
  assert.equal((await plane.list(persistentVolumes)).length, 1)
  delete trouble.message
  await plane.advance(60_000)
  assert.deepEqual(await plane.list(persistentVolumes), [])
  assert.equal(removed.length, 1)
})

test('a volume with reclaim policy changed to Retain keeps its directory', async t => {
  const { plane, removed, select } = await start(t)
  const claim = await plane.create(persistentVolumeClaims, claimOf('data'))
  await select('data', 'n1')
  const name = `pvc-${claim.metadata.uid}`
  await plane.change(persistentVolumes, name, volume => ({
    ...volume,
    spec: { ...volume.spec, persistentVolumeReclaimPolicy: 'Retain' },
  }))
  const [volume] = await plane.list(persistentVolumes)
  assert.deepEqual(volume?.metadata.finalizers, ['kubernetes.io/pv-protection'])
  await plane.run(plane.client.delete(persistentVolumeClaims, { namespace: 'default', name: 'data' }))
  await plane.settle()
  assert.equal(await showVolumes(plane), `${name}:Released>data`)
  await plane.run(plane.client.delete(persistentVolumes, { name }))
  await plane.settle()
  assert.deepEqual([await plane.list(persistentVolumes), removed], [[], []])
})

const ownClass = { provisioner: 'k8ts.io/host-path', volumeBindingMode: 'WaitForFirstConsumer' }

const refusals: Readonly<Record<string, readonly [Partial<StorageClass>, PersistentVolumeClaim, string]>> = {
  'a block device': [
    ownClass,
    claimOf('data', '1Gi', { storageClassName: 'own', volumeMode: 'Block' }),
    'Failed to provision volume with StorageClass "own": k8ts.io/host-path does not support block volume provisioning',
  ],
  'a copy': [
    ownClass,
    claimOf('data', '1Gi', {
      storageClassName: 'own',
      dataSource: { kind: 'PersistentVolumeClaim', name: 'other' },
    }),
    'plugin "k8ts.io/host-path" is not a CSI plugin. Only CSI plugin can provision a claim with a datasource',
  ],
  'mount options': [
    { ...ownClass, mountOptions: ['ro', 'sync'] },
    claimOf('data', '1Gi', { storageClassName: 'own' }),
    'Mount options are not supported by the provisioner but StorageClass "own" has mount options [ro sync]',
  ],
  'a node that is not there': [
    ownClass,
    selecting(claimOf('data', '1Gi', { storageClassName: 'own' }), 'gone'),
    'Failed to get target node: node "gone" not found',
  ],
  'no node': [
    { ...ownClass, volumeBindingMode: 'Immediate' },
    claimOf('data', '1Gi', { storageClassName: 'own' }),
    'Failed to provision volume with StorageClass "own": no node selected: ' +
      'the storage class must have volumeBindingMode WaitForFirstConsumer',
  ],
}

for (const [name, [storageClass, claim, message]] of Object.entries(refusals)) {
  test(`an unsupported claim gets an event: ${name}`, async t => {
    const { plane, select } = await start(t)
    await plane.create(storageClasses, classOf('own', storageClass))
    const { metadata } = await plane.create(persistentVolumeClaims, claim)
    const isOpen = storageClass.volumeBindingMode !== 'Immediate' && metadata.annotations === undefined
    if (isOpen) await select('data', 'n1')
    const told = await eventsAbout(plane, 'data')
    assert.ok(told.includes(`ProvisioningFailed: ${message}`), told.join('\n'))
    assert.equal(await showClaims(plane), 'data:Pending')
    assert.deepEqual(await plane.list(persistentVolumes), [])
  })
}

test('a claim is provisioned when its node appears', async t => {
  const { plane } = await start(t)
  await plane.create(persistentVolumeClaims, selecting(claimOf('data'), 'n2'))
  assert.equal(await showClaims(plane), 'data:Pending')
  await plane.create(nodes, nodeOf('n2'))
  assert.match(await showClaims(plane), /^data:Bound>pvc-/)
})

test('only the directory of the volume itself is deleted', async () => {
  const removed: string[] = []
  const provisioner = hostPathProvisioner({
    root: '/data',
    removeFolder: async path => void removed.push(path),
  })
  for (const path of ['/', '/data', '/data/other', '/data/v/../../etc', '/etc'])
    await assert.rejects(
      provisioner.delete({ metadata: { name: 'v' }, spec: { hostPath: { path } } }),
      /refusing to delete .* in \/data/,
    )
  await provisioner.delete({ metadata: { name: 'v' }, spec: { hostPath: { path: '/data/v' } } })
  assert.deepEqual(removed, ['/data/v'])
})

test('the default storage class is created once, and only if none exists', async t => {
  const plane = await startTestControlPlane(t, [])
  const names = async (): Promise<readonly unknown[]> => {
    return (await plane.list(storageClasses)).map(({ metadata }) => metadata.name)
  }
  await plane.run(ensureDefaultStorageClass(plane.client))
  await plane.run(ensureDefaultStorageClass(plane.client))
  assert.deepEqual(await names(), ['standard'])
  await plane.create(storageClasses, classOf('mine'))
  await plane.run(plane.client.delete(storageClasses, { name: 'standard' }))
  await plane.run(ensureDefaultStorageClass(plane.client))
  assert.deepEqual(await names(), ['mine'])
})
