import assert from 'node:assert/strict'
import { mkdir, readFile, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { PersistentVolumeClaim, PersistentVolumeSpec, PodSpec } from '#/api/generated/core/v1.ts'
import { persistentVolumeClaims, persistentVolumes } from '#/api/generated/core/v1-resources.ts'
import type { KubeletPod } from '#/kubelet/kubelet-pod.ts'
import { VolumeError } from '#/kubelet/volumes.ts'
import { containerWith, needsRoot, startTestVolumes, type TestVolumes } from './test-volumes.ts'

const modeOf = async (path: string): Promise<string> => ((await stat(path)).mode & 0o7777).toString(8)

interface Storage {
  readonly spec: PersistentVolumeSpec
  readonly annotations?: Readonly<Record<string, string>>
  readonly owner?: KubeletPod
  readonly phase?: string
}

/** Creates a claim and the volume bound to it. No volume controller runs here. */
async function createClaim(
  { client }: TestVolumes,
  name: string,
  storage: Storage,
): Promise<PersistentVolumeClaim> {
  const { spec, annotations = {}, owner, phase = 'Bound' } = storage
  const accessModes = spec.accessModes ?? ['ReadWriteOnce']
  const reference = { apiVersion: 'v1', kind: 'Pod', name: owner?.metadata.name ?? '', controller: true }
  const claim = await client.create(persistentVolumeClaims, {
    metadata: {
      namespace: 'default',
      name,
      ...(owner && { ownerReferences: [{ ...reference, uid: owner.metadata.uid }] }),
    },
    spec: {
      accessModes,
      resources: { requests: { storage: '1Gi' } },
      volumeName: `pv-${name}`,
      ...(spec.volumeMode && { volumeMode: spec.volumeMode }),
    },
  })
  await client.create(persistentVolumes, {
    metadata: { name: `pv-${name}`, annotations },
    spec: {
      accessModes,
      capacity: { storage: '1Gi' },
      claimRef: { kind: 'PersistentVolumeClaim', namespace: 'default', name, uid: claim.metadata.uid },
      ...spec,
    },
  })
  return client.updateStatus(persistentVolumeClaims, { ...claim, status: { phase } })
}

const onNode = (name: string): PersistentVolumeSpec['nodeAffinity'] => ({
  required: {
    nodeSelectorTerms: [
      { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [name] }] },
    ],
  },
})

function claiming(claimName: string, more: Partial<PodSpec> = {}, readOnly = false): PodSpec {
  return {
    containers: [containerWith('v')],
    volumes: [{ name: 'v', persistentVolumeClaim: { claimName, readOnly } }],
    ...more,
  }
}

async function messageOf({ volumes, signal }: TestVolumes, pod: KubeletPod): Promise<string> {
  try {
    await volumes.mount(pod, signal)
    return ''
  } catch (error) {
    assert.ok(error instanceof VolumeError, String(error))
    return error.message
  }
}

async function volumeOf({ volumes, signal }: TestVolumes, pod: KubeletPod) {
  const volume = (await volumes.mount(pod, signal)).get('v')
  assert.ok(volume)
  return volume
}

test(
  'a claim of the built-in provisioner is a writable directory that outlives its pods',
  { skip: needsRoot },
  async t => {
    const setup = await startTestVolumes(t)
    const path = join(setup.folder, 'volumes/pv-data')
    await createClaim(setup, 'data', {
      spec: { hostPath: { path, type: 'DirectoryOrCreate' }, nodeAffinity: onNode('n1') },
      annotations: { 'pv.kubernetes.io/provisioned-by': 'k8ts.io/host-path' },
    })
    const pod = await setup.createPod(claiming('data'))
    assert.deepEqual(await volumeOf(setup, pod), { name: 'v', hostPath: path, readonly: false })
    assert.equal(await modeOf(path), '777')
    await writeFile(join(path, 'file'), 'kept')
    await setup.volumes.unmount(pod.metadata.uid, setup.signal)
    const next = await setup.createPod(claiming('data', {}, true))
    assert.equal((await volumeOf(setup, next)).readonly, true)
    assert.equal(await readFile(join(path, 'file'), 'utf8'), 'kept')
  },
)

test('mounting an unusable claim fails with the reason', { skip: needsRoot }, async t => {
  const setup = await startTestVolumes(t)
  const local = { local: { path: setup.folder } }
  await createClaim(setup, 'pending', { spec: { ...local, nodeAffinity: onNode('n1') }, phase: 'Pending' })
  await createClaim(setup, 'elsewhere', { spec: { ...local, nodeAffinity: onNode('n2') } })
  await createClaim(setup, 'gone', { spec: { local: { path: '/nowhere' }, nodeAffinity: onNode('n1') } })
  await createClaim(setup, 'raw', { spec: { ...local, nodeAffinity: onNode('n1'), volumeMode: 'Block' } })
  await createClaim(setup, 'nfs', { spec: { nfs: { server: 's', path: '/p' } } })
  const all = (state: string): string =>
    'Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[], ' +
    `failed to process volumes=[v]: ${state}`
  const cases: readonly (readonly [claim: string, expected: string])[] = [
    ['pending', all('error processing PVC default/pending: PVC is not bound')],
    [
      'none',
      all(
        'error processing PVC default/none: failed to fetch PVC from API server: ' +
          'persistentvolumeclaims "none" not found',
      ),
    ],
    ['raw', all('volume v has volumeMode Block, but is specified in volumeMounts')],
    [
      'elsewhere',
      'MountVolume.NodeAffinity check failed for volume "pv-elsewhere" : no matching NodeSelectorTerms',
    ],
    [
      'gone',
      'MountVolume.NewMounter initialization failed for volume "pv-gone" : path "/nowhere" does not exist',
    ],
    [
      'nfs',
      'MountVolume.SetUp failed for volume "pv-nfs" : volumes of type nfs are not supported by this node',
    ],
  ]
  for (const [claim, expected] of cases) {
    const pod = await setup.createPod(claiming(claim))
    assert.equal(await messageOf(setup, pod), expected)
  }
})

test(
  'a local volume is mounted for each pod with its fsGroup, and read-only when requested',
  { skip: needsRoot },
  async t => {
    const setup = await startTestVolumes(t)
    const path = join(setup.folder, 'disk')
    await mkdir(path)
    await writeFile(join(path, 'file'), 'x', { mode: 0o600 })
    await createClaim(setup, 'disk', { spec: { local: { path }, nodeAffinity: onNode('n1') } })
    const policy = { securityContext: { fsGroup: 55, fsGroupChangePolicy: 'OnRootMismatch' } }
    const pod = await setup.createPod(claiming('disk', policy))
    const volume = await volumeOf(setup, pod)
    assert.ok(volume.hostPath.endsWith('/volumes/kubernetes.io~local-volume/pv-disk'))
    assert.deepEqual([(await stat(join(path, 'file'))).gid, await modeOf(join(path, 'file'))], [55, '660'])
    await writeFile(join(path, 'later'), 'x', { mode: 0o600 })
    await setup.linux.files.chown(join(path, 'later'), 0, 0)
    const reader = await setup.createPod(claiming('disk', policy, true))
    const readonlyPath = (await volumeOf(setup, reader)).hostPath
    await assert.rejects(writeFile(join(readonlyPath, 'new'), ''), { code: 'EROFS' })
    await setup.volumes.unmount(reader.metadata.uid, setup.signal)
    await setup.volumes.unmount(pod.metadata.uid, setup.signal)
    const next = await setup.createPod(claiming('disk', policy))
    await volumeOf(setup, next)
    assert.equal((await stat(join(path, 'later'))).gid, 0, "the folder was the group's already")
    await setup.volumes.unmount(next.metadata.uid, setup.signal)
    assert.deepEqual(await setup.mounts(), [])
    assert.equal(await readFile(join(path, 'file'), 'utf8'), 'x')
  },
)

/** A loop device backed by a file. */
async function createDevice(t: TestContext, { linux, folder }: TestVolumes): Promise<string> {
  const image = join(folder, 'image')
  await writeFile(image, '')
  await truncate(image, 64 * 1024 * 1024)
  const device = (await linux.run(['losetup', '--find', '--show', image])).trim()
  t.after(() => linux.run(['losetup', '--detach', device]))
  return device
}

test(
  'a device is formatted once, mounted once for all pods and unmounted after the last',
  { skip: needsRoot },
  async t => {
    const setup = await startTestVolumes(t)
    const device = await createDevice(t, setup)
    await createClaim(setup, 'device', { spec: { local: { path: device }, nodeAffinity: onNode('n1') } })
    const both = [await setup.createPod(claiming('device')), await setup.createPod(claiming('device'))]
    const [first, second] = await Promise.all(both.map(pod => volumeOf(setup, pod)))
    await writeFile(join(first!.hostPath, 'file'), 'shared')
    assert.equal(await readFile(join(second!.hostPath, 'file'), 'utf8'), 'shared')
    assert.equal((await setup.mounts()).length, 3)
    const [usage] = await setup.volumes.usage(both[0]!)
    assert.deepEqual(usage?.claim, { namespace: 'default', name: 'device' })
    assert.ok((usage?.space.totalBytes ?? 0) < 64 * 1024 * 1024)
    await setup.volumes.unmount(both[0]!.metadata.uid, setup.signal)
    assert.equal((await setup.mounts()).length, 2)
    await setup.volumes.unmount(both[1]!.metadata.uid, setup.signal)
    assert.deepEqual(await setup.mounts(), [])
    const next = await setup.createPod(claiming('device'))
    assert.equal(await readFile(join((await volumeOf(setup, next)).hostPath, 'file'), 'utf8'), 'shared')
    await setup.volumes.unmount(next.metadata.uid, setup.signal)
  },
)

test('a device with another filesystem is not formatted', { skip: needsRoot }, async t => {
  const setup = await startTestVolumes(t)
  const device = await createDevice(t, setup)
  await setup.linux.run(['mkfs.ext4', '-q', device])
  await createClaim(setup, 'other', {
    spec: { local: { path: device, fsType: 'xfs' }, nodeAffinity: onNode('n1') },
  })
  const pod = await setup.createPod(claiming('other'))
  assert.match(
    await messageOf(setup, pod),
    /^MountVolume\.MountDevice failed for volume "pv-other" : local: failed to mount .* it already contains ext4/,
  )
  assert.match(await setup.linux.run(['blkid', '-p', device]), /TYPE="ext4"/)
  assert.deepEqual(await setup.mounts(), [])
})

test(
  'mounting a device without its mkfs program fails and names the program',
  { skip: needsRoot },
  async t => {
    const setup = await startTestVolumes(t)
    const device = await createDevice(t, setup)
    await createClaim(setup, 'odd', {
      spec: { local: { path: device, fsType: 'nosuch' }, nodeAffinity: onNode('n1') },
    })
    const pod = await setup.createPod(claiming('odd'))
    const reason = `format of disk "${device}" failed: mkfs.nosuch is not installed on this node`
    const message = await messageOf(setup, pod)
    assert.ok(message.startsWith('MountVolume.MountDevice failed for volume "pv-odd" : local: '), message)
    assert.ok(message.endsWith(reason), message)
    assert.deepEqual(await setup.mounts(), [])
  },
)

test('only local raw block volumes are passed to containers', { skip: needsRoot }, async t => {
  const setup = await startTestVolumes(t)
  const device = await createDevice(t, setup)
  const spec = { nodeAffinity: onNode('n1'), volumeMode: 'Block' }
  await createClaim(setup, 'raw', { spec: { ...spec, local: { path: device } } })
  await createClaim(setup, 'host', { spec: { ...spec, hostPath: { path: device } } })
  const container = { name: 'main', image: 'image', volumeDevices: [{ name: 'v', devicePath: '/dev/x' }] }
  const pod = await setup.createPod(claiming('raw', { containers: [container] }))
  assert.deepEqual(await volumeOf(setup, pod), {
    name: 'v',
    hostPath: device,
    readonly: false,
    isBlock: true,
  })
  const other = await setup.createPod(claiming('host', { containers: [container] }))
  assert.match(
    await messageOf(setup, other),
    /^MapVolume\.FindMapperPluginBySpec failed for volume "pv-host" : /,
  )
})

test('an ephemeral volume claim must be owned by its pod', { skip: needsRoot }, async t => {
  const setup = await startTestVolumes(t)
  const ephemeral = {
    volumeClaimTemplate: {
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    },
  }
  const spec = { containers: [containerWith('v')], volumes: [{ name: 'v', ephemeral }] }
  const own = await setup.createPod(spec, { name: 'own' })
  const other = await setup.createPod(spec, { name: 'other' })
  for (const name of ['own-v', 'other-v']) {
    await createClaim(setup, name, { spec: { hostPath: { path: setup.folder } }, owner: own })
  }
  assert.equal((await volumeOf(setup, own)).hostPath, setup.folder)
  assert.match(
    await messageOf(setup, other),
    /PVC default\/other-v was not created for pod default\/other \(pod is not owner\)$/,
  )
})

test('a ReadWriteOncePod volume is not mounted for a second pod', { skip: needsRoot }, async t => {
  const setup = await startTestVolumes(t)
  await createClaim(setup, 'single', {
    spec: { hostPath: { path: setup.folder }, accessModes: ['ReadWriteOncePod'] },
    annotations: { 'pv.beta.kubernetes.io/gid': '4242' },
  })
  const [first, second] = [
    await setup.createPod(claiming('single')),
    await setup.createPod(claiming('single')),
  ]
  assert.equal((await volumeOf(setup, first)).supplementalGroup, 4242)
  assert.equal(
    await messageOf(setup, second),
    'MountVolume.SetUp failed for volume "pv-single" : ' +
      'volume uses the ReadWriteOncePod access mode and is already in use by another pod',
  )
  await setup.volumes.unmount(first.metadata.uid, setup.signal)
  assert.equal(await messageOf(setup, second), '')
})
