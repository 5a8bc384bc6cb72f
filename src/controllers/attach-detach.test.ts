import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodes, persistentVolumeClaims, persistentVolumes, pods } from '#/api/generated/core/v1-resources.ts'
import type { Node, PersistentVolumeSpec } from '#/api/generated/core/v1.ts'
import { csiDrivers, volumeAttachments } from '#/api/generated/storage/v1-resources.ts'
import type { VolumeAttachment } from '#/api/generated/storage/v1.ts'
import { attachDetachController } from './attach-detach.ts'
import { persistentVolumeBinderController } from './persistent-volume-binder.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'
import { claimOf, eventsAbout, nodeOf, podWithClaims, volumeOf } from './test-storage.ts'

const managed = { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' }
const unique = 'kubernetes.io/csi/csi.example.com^h'

/** A bound claim for a CSI volume, and two nodes that can mount it. */
async function start(
  t: Parameters<typeof startTestControlPlane>[0],
  spec: PersistentVolumeSpec = {},
): Promise<TestControlPlane> {
  const plane = await startTestControlPlane(t, [attachDetachController, persistentVolumeBinderController()])
  for (const name of ['n1', 'n2']) {
    await plane.create(nodes, nodeOf(name, managed))
    await say(plane, name, status => ({ ...status, conditions: [{ type: 'Ready', status: 'True' }] }))
  }
  const csi = { driver: 'csi.example.com', volumeHandle: 'h' }
  const volume = await plane.create(persistentVolumes, volumeOf('v', '1Gi', { csi, ...spec }))
  const accessModes = volume.spec?.accessModes ?? []
  await plane.create(persistentVolumeClaims, claimOf('data', '1Gi', { accessModes }))
  return plane
}

/** Writes the node status, as the kubelet does. */
async function say(
  plane: TestControlPlane,
  node: string,
  change: (status: NonNullable<Node['status']>) => NonNullable<Node['status']>,
): Promise<void> {
  await plane.changeStatus(nodes, node, each => ({ ...each, status: change(each.status ?? {}) }))
}

/** Writes the attachment status, as the external attacher does. */
async function attach(
  plane: TestControlPlane,
  node: string,
  status: Partial<VolumeAttachment['status']> = {},
) {
  const attachment = (await plane.list(volumeAttachments)).find(({ spec }) => spec.nodeName === node)
  await plane.changeStatus(volumeAttachments, attachment!.metadata.name, each => ({
    ...each,
    status: { attached: true, ...status },
  }))
}

/**
 * `node*` for each VolumeAttachment (star: attached), then `[node volume]` for each entry of
 * `volumesAttached`.
 */
async function show(plane: TestControlPlane): Promise<string> {
  const attachments = await plane.list(volumeAttachments)
  const made = attachments.map(({ spec, status }) => `${spec.nodeName}${status?.attached ? '*' : ''}`)
  const told = (await plane.list(nodes)).flatMap(({ metadata, status }) => {
    return (status?.volumesAttached ?? []).map(
      ({ name }) => `[${metadata.name} ${name === unique ? 'v' : name}]`,
    )
  })
  return [...made.toSorted(), ...told].join(' ')
}

async function remove(plane: TestControlPlane, pod: string): Promise<void> {
  await plane.run(plane.client.delete(pods, { namespace: 'default', name: pod }, { gracePeriodSeconds: 0 }))
  await plane.settle()
}

const onNode = (name: string, nodeName: string): ReturnType<typeof podWithClaims> => {
  return podWithClaims(name, ['data'], { nodeName })
}

test('a volume is attached for a pod, reported to the node, and detached after unmount', async t => {
  const plane = await start(t)
  await plane.create(pods, podWithClaims('waiting', ['data']))
  assert.equal(await show(plane), '')
  await plane.create(pods, onNode('web', 'n1'))
  assert.equal(await show(plane), 'n1')
  const [attachment] = await plane.list(volumeAttachments)
  assert.match(attachment?.metadata.name ?? '', /^csi-[0-9a-f]{64}$/)
  assert.deepEqual(attachment?.spec, {
    attacher: 'csi.example.com',
    nodeName: 'n1',
    source: { persistentVolumeName: 'v' },
  })
  await attach(plane, 'n1')
  assert.equal(await show(plane), 'n1* [n1 v]')
  assert.deepEqual(await eventsAbout(plane, 'web'), [
    'SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume "v" ',
  ])
  await say(plane, 'n1', status => ({ ...status, volumesInUse: [unique] }))
  await remove(plane, 'web')
  assert.equal(await show(plane), 'n1* [n1 v]')
  await say(plane, 'n1', status => ({ ...status, volumesInUse: [] }))
  assert.equal(await show(plane), '')
})

test('the volume of a finished pod is detached', async t => {
  const plane = await start(t)
  await plane.create(pods, onNode('web', 'n1'))
  await attach(plane, 'n1')
  await plane.changeStatus(pods, 'default/web', pod => ({ ...pod, status: { phase: 'Succeeded' } }))
  assert.equal(await show(plane), '')
})

test('drivers without attach and nodes that attach themselves are ignored', async t => {
  const plane = await start(t)
  await plane.create(csiDrivers, { metadata: { name: 'csi.example.com' }, spec: { attachRequired: false } })
  await plane.create(pods, onNode('web', 'n1'))
  assert.equal(await show(plane), '')
  await plane.run(plane.client.delete(csiDrivers, { name: 'csi.example.com' }))
  await plane.settle()
  assert.equal(await show(plane), 'n1')
  await plane.create(nodes, nodeOf('n3'))
  await remove(plane, 'web')
  await plane.create(pods, onNode('other', 'n3'))
  assert.equal(await show(plane), '')
})

test('an attach failure is recorded once per message', async t => {
  const plane = await start(t)
  await plane.create(pods, onNode('web', 'n1'))
  for (const message of ['no', 'no', 'never']) {
    await attach(plane, 'n1', { attached: false, attachError: { message } })
    await say(plane, 'n1', status => ({ ...status, conditions: [{ type: 'Ready', status: 'False' }] }))
    await say(plane, 'n1', status => ({ ...status, conditions: [{ type: 'Ready', status: 'True' }] }))
  }
  assert.deepEqual(await eventsAbout(plane, 'web'), [
    'FailedAttachVolume: AttachVolume.Attach failed for volume "v" : no',
    'FailedAttachVolume: AttachVolume.Attach failed for volume "v" : never',
  ])
})

test('a single-node volume is attached to the next node after detach', async t => {
  const plane = await start(t)
  await plane.create(pods, onNode('first', 'n1'))
  await attach(plane, 'n1')
  await say(plane, 'n1', status => ({ ...status, volumesInUse: [unique] }))
  await plane.create(pods, onNode('second', 'n2'))
  assert.equal(await show(plane), 'n1* [n1 v]')
  assert.deepEqual(await eventsAbout(plane, 'second'), [
    'FailedAttachVolume: Waiting for detach for volume "v" Volume is already used by pod(s) first',
  ])
  await remove(plane, 'first')
  await plane.create(pods, onNode('third', 'n2'))
  assert.equal(await show(plane), 'n1* [n1 v]')
  await say(plane, 'n1', status => ({ ...status, volumesInUse: [] }))
  assert.equal(await show(plane), 'n2')
  await attach(plane, 'n2')
  assert.equal(await show(plane), 'n2* [n2 v]')
})

test('two nodes never attach a single-node volume at the same time', async t => {
  const plane = await start(t)
  const { client } = plane
  await plane.run(
    Promise.all([client.create(pods, onNode('a', 'n1')), client.create(pods, onNode('b', 'n2'))]),
  )
  await plane.settle()
  assert.match(await show(plane), /^n[12]$/)
})

test('a multi-attach volume is attached to all nodes that need it', async t => {
  const plane = await start(t, { accessModes: ['ReadWriteMany'] })
  await plane.create(pods, onNode('a', 'n1'))
  await plane.create(pods, onNode('b', 'n2'))
  await attach(plane, 'n1')
  await attach(plane, 'n2')
  assert.equal(await show(plane), 'n1* n2* [n1 v] [n2 v]')
})

/** Failures of a node that still reports a volume in use which no pod there needs. */
const silences: Readonly<Record<string, (plane: TestControlPlane) => Promise<void>>> = {
  'not ready': plane =>
    say(plane, 'n1', status => ({ ...status, conditions: [{ type: 'Ready', status: 'Unknown' }] })),
  'gone': async plane => {
    await plane.run(plane.client.delete(nodes, { name: 'n1' }))
    await plane.settle()
  },
}

for (const [name, silence] of Object.entries(silences)) {
  test(`a volume is force-detached after six minutes: ${name}`, async t => {
    const plane = await start(t)
    await plane.create(pods, onNode('web', 'n1'))
    await attach(plane, 'n1')
    await say(plane, 'n1', status => ({ ...status, volumesInUse: [unique] }))
    await remove(plane, 'web')
    await plane.advance(10 * 60_000)
    assert.equal(await show(plane), 'n1* [n1 v]', 'a healthy node is waited for')
    await plane.create(pods, onNode('again', 'n1'))
    await silence(plane)
    await remove(plane, 'again')
    await plane.advance(5 * 60_000)
    assert.match(await show(plane), /^n1\*/)
    await plane.advance(2 * 60_000)
    assert.equal(await show(plane), '')
  })
}

test('a volume is detached at once from an out-of-service node', async t => {
  const plane = await start(t)
  await plane.create(pods, onNode('web', 'n1'))
  await attach(plane, 'n1')
  await say(plane, 'n1', status => ({ ...status, volumesInUse: [unique] }))
  await remove(plane, 'web')
  const taint = { key: 'node.kubernetes.io/out-of-service', value: 'nodeshutdown', effect: 'NoExecute' }
  await plane.change(nodes, 'n1', node => ({ ...node, spec: { ...node.spec, taints: [taint] } }))
  assert.equal(await show(plane), '')
})

test('foreign VolumeAttachments and volumesAttached entries stay', async t => {
  const plane = await start(t)
  await plane.create(volumeAttachments, {
    metadata: { name: 'by-hand' },
    spec: { attacher: 'csi.example.com', nodeName: 'n2', source: { persistentVolumeName: 'other' } },
  })
  const foreign = { name: 'kubernetes.io/iscsi/x', devicePath: '' }
  await say(plane, 'n1', status => ({ ...status, volumesAttached: [foreign] }))
  await plane.create(pods, onNode('web', 'n1'))
  await attach(plane, 'n1')
  assert.equal(await show(plane), 'n1* n2 [n1 kubernetes.io/iscsi/x] [n1 v]')
  await remove(plane, 'web')
  assert.equal(await show(plane), 'n2 [n1 kubernetes.io/iscsi/x]')
})

test('the VolumeAttachment of a deleted volume is deleted', async t => {
  const plane = await start(t)
  await plane.create(pods, onNode('web', 'n1'))
  await attach(plane, 'n1')
  await plane.run(plane.client.delete(persistentVolumes, { name: 'v' }))
  await remove(plane, 'web')
  assert.equal(await show(plane), '')
})
