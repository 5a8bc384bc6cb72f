import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodes, persistentVolumeClaims, persistentVolumes } from '#/api/generated/core/v1-resources.ts'
import type { PersistentVolumeClaim } from '#/api/generated/core/v1.ts'
import { hostPathProvisioner } from './host-path-provisioner.ts'
import { ensureDefaultStorageClass } from './default-storage-class.ts'
import { persistentVolumeBinderController } from './persistent-volume-binder.ts'
import { persistentVolumeExpanderController } from './persistent-volume-expander.ts'
import type { Provisioner } from './shared/provisioner.ts'
import { crashingController } from './test-crashes.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'
import { claimOf, eventsAbout, nodeOf, volumeOf } from './test-storage.ts'

const selected = { annotations: { 'volume.kubernetes.io/selected-node': 'n1' } }
const usual = hostPathProvisioner({ removeFolder: () => Promise.resolve() })

function sized(claim: PersistentVolumeClaim, storage: string): PersistentVolumeClaim {
  return { ...claim, spec: { ...claim.spec, resources: { requests: { storage } } } }
}

async function start(
  t: Parameters<typeof startTestControlPlane>[0],
  provisioner: Provisioner,
  crashAfter = Infinity,
): Promise<{ readonly plane: TestControlPlane; readonly hasCrashed: () => boolean }> {
  const provisioners = [provisioner]
  const { controller, hasCrashed } = crashingController(
    persistentVolumeExpanderController({ provisioners }),
    crashAfter,
  )
  const plane = await startTestControlPlane(t, [
    controller,
    persistentVolumeBinderController({ provisioners }),
  ])
  await plane.run(ensureDefaultStorageClass(plane.client))
  await plane.create(nodes, nodeOf('n1'))
  return { plane, hasCrashed }
}

async function sizes(plane: TestControlPlane): Promise<unknown> {
  const [[claim], [volume]] = [await plane.list(persistentVolumeClaims), await plane.list(persistentVolumes)]
  return [volume?.spec?.capacity?.['storage'], claim?.status?.capacity?.['storage']]
}

test('an expansion is completed after a crash at any write', async t => {
  for (let writes = 1; ; writes++) {
    const { plane, hasCrashed } = await start(t, usual, writes)
    await plane.create(
      persistentVolumeClaims,
      claimOf('data', '1Gi', { storageClassName: 'standard' }, selected),
    )
    assert.deepEqual(await sizes(plane), ['1Gi', '1Gi'])
    await plane.change(persistentVolumeClaims, 'default/data', claim => sized(claim, '2Gi'))
    assert.deepEqual(await sizes(plane), ['2Gi', '2Gi'], `after ${writes} writes`)
    const [claim] = await plane.list(persistentVolumeClaims)
    const { conditions, allocatedResources, allocatedResourceStatuses } = claim?.status ?? {}
    assert.deepEqual([conditions, allocatedResources], [undefined, { storage: '2Gi' }])
    assert.deepEqual(allocatedResourceStatuses ?? {}, {})
    assert.equal(claim?.metadata.annotations?.['volume.kubernetes.io/storage-resizer'], 'k8ts.io/host-path')
    if (hasCrashed()) continue
    assert.ok(writes > 3)
    const told = await eventsAbout(plane, 'data')
    assert.ok(told.includes('VolumeResizeSuccessful: ExpandVolume succeeded for volume default/data'))
    return
  }
})

test('a failed expansion records an event and is retried', async t => {
  let isFull = true
  const provisioner: Provisioner = {
    ...usual,
    expand: async (_volume, size) => {
      if (isFull) throw new Error('disk is full')
      return size
    },
  }
  const { plane } = await start(t, provisioner)
  await plane.create(
    persistentVolumeClaims,
    claimOf('data', '1Gi', { storageClassName: 'standard' }, selected),
  )
  await plane.change(persistentVolumeClaims, 'default/data', claim => sized(claim, '2Gi'))
  const [claim] = await plane.list(persistentVolumeClaims)
  assert.deepEqual(
    claim?.status?.conditions?.map(({ type, status }) => `${type}=${status}`),
    ['Resizing=True'],
  )
  assert.deepEqual(claim?.status?.allocatedResourceStatuses, { storage: 'ControllerResizeInProgress' })
  assert.ok(
    (await eventsAbout(plane, 'data')).includes(
      'VolumeResizeFailed: error expanding pvc default/data: disk is full',
    ),
  )
  isFull = false
  await plane.advance(10_000)
  assert.deepEqual(await sizes(plane), ['2Gi', '2Gi'])
})

test('volumes of external provisioners are not expanded here', async t => {
  const { plane } = await start(t, usual)
  await plane.create(persistentVolumes, volumeOf('v', '1Gi', { storageClassName: 'other' }))
  await plane.create(persistentVolumeClaims, claimOf('data', '1Gi', { storageClassName: 'other' }))
  await plane.change(persistentVolumeClaims, 'default/data', claim => sized(claim, '2Gi'))
  assert.deepEqual(await sizes(plane), ['1Gi', '1Gi'])
  assert.ok(
    (await eventsAbout(plane, 'data')).includes(
      'ExternalExpanding: waiting for an external controller to expand this PVC',
    ),
  )
})
