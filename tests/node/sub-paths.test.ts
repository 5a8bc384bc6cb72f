import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { Volume } from '#/api/generated/core/v1.ts'
import { configMaps } from '#/api/generated/core/v1-resources.ts'
import type { KubeletPod } from '#/kubelet/kubelet-pod.ts'
import { PodVolumes } from '#/kubelet/volumes.ts'
import { containerWith, needsRoot, startTestVolumes, type TestVolumes } from './test-volumes.ts'
import { KubeletMetrics } from '#/kubelet/kubelet-metrics.ts'

async function preparedPod(
  setup: TestVolumes,
  volume: Volume,
): Promise<{ readonly pod: KubeletPod; readonly path: string }> {
  const pod = await setup.createPod({ containers: [containerWith(volume.name)], volumes: [volume] })
  const path = (await setup.volumes.mount(pod, setup.signal)).get(volume.name)?.hostPath ?? ''
  return { pod, path }
}

function partOf({ volumes }: TestVolumes, pod: KubeletPod, subPath: string, index = 0): Promise<string> {
  return volumes.subPath({ pod, container: 'main', mount: { name: 'v', mountPath: '/v', subPath }, index })
}

test(
  'a subPath is the existing entry, or a directory created with the mode of its parent',
  { skip: needsRoot },
  async t => {
    const setup = await startTestVolumes(t)
    const { pod, path } = await preparedPod(setup, { name: 'v', emptyDir: {} })
    await chmod(path, 0o2770)
    await writeFile(join(path, 'file'), 'content')
    const file = await partOf(setup, pod, 'file', 0)
    assert.equal(file, join(setup.node.rootDirectory, 'pods', pod.metadata.uid, 'volume-subpaths/v/main/0'))
    assert.equal(await readFile(file, 'utf8'), 'content')
    const folder = await partOf(setup, pod, 'new/deep', 1)
    await writeFile(join(folder, 'inside'), 'x')
    assert.deepEqual(await readdir(join(path, 'new/deep')), ['inside'])
    assert.equal(((await stat(join(path, 'new'))).mode & 0o7777).toString(8), '2770')
    assert.equal(await partOf(setup, pod, 'new/deep', 1), folder)
    assert.equal((await setup.mounts()).length, 2)
    // A restarted container gets the current file.
    await rename(join(path, 'file'), join(path, 'old'))
    await writeFile(join(path, 'file'), 'other')
    assert.equal(await readFile(await partOf(setup, pod, 'file', 0), 'utf8'), 'other')
    await rm(join(path, 'file'))
    await mkdir(join(path, 'file'))
    assert.deepEqual(await readdir(await partOf(setup, pod, 'file', 0)), [])
    await setup.volumes.unmount(pod.metadata.uid, setup.signal)
    assert.deepEqual(await setup.mounts(), [])
  },
)

test('a subPath can be a key of a config map', { skip: needsRoot }, async t => {
  const setup = await startTestVolumes(t)
  await setup.client.create(configMaps, {
    metadata: { namespace: 'default', name: 'c' },
    data: { key: 'value' },
  })
  const { pod } = await preparedPod(setup, { name: 'v', configMap: { name: 'c' } })
  assert.equal(await readFile(await partOf(setup, pod, 'key'), 'utf8'), 'value')
})

test('a subPath outside of its volume is rejected', { skip: needsRoot }, async t => {
  const setup = await startTestVolumes(t)
  const { pod, path } = await preparedPod(setup, { name: 'v', emptyDir: {} })
  await writeFile(join(setup.folder, 'secret'), 'of the node')
  await symlink(setup.folder, join(path, 'absolute'))
  await symlink('../../../../../../other', join(path, 'relative'))
  await symlink('/etc/passwd', join(path, 'file'))
  for (const part of ['absolute', 'absolute/secret', 'relative/secret', 'relative/new', 'file']) {
    await assert.rejects(partOf(setup, pod, part), { code: 'ELOOP' }, part)
  }
  assert.deepEqual(await readdir(setup.folder), ['secret'])
  assert.deepEqual(await setup.mounts(), [])
})

/** Alternates between a folder and a symlink to the node's files at the same path. */
const swapping = `
  chdir $ARGV[0]; mkdir 'part'; mkdir 'part/x';
  $| = 1; print "ready\\n";
  sub moment { for (my $i = rand(2000); $i > 0; $i--) {} }
  while (1) {
    moment; rename('part', 'aside'); symlink($ARGV[1], 'part');
    moment; unlink 'part'; rename('aside', 'part');
  }
`

/** Maximum number of mounts, and the required number of each outcome. */
const triesMax = 2_000
const timesMin = 30

test('replacing a subPath by a symbolic link never leads out of the volume', { skip: needsRoot }, async t => {
  const setup = await startTestVolumes(t)
  const { pod, path } = await preparedPod(setup, { name: 'v', emptyDir: {} })
  await mkdir(join(setup.folder, 'x'))
  for (const name of ['secret', 'x/secret']) await writeFile(join(setup.folder, name), 'of the node')
  const hostile = spawn('perl', ['-e', swapping, path, setup.folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(hostile, 'exit')
  const outcomes = { mounted: 0, refused: 0, vanished: 0 }
  try {
    await once(hostile.stdout, 'data')
    for (
      let tries = 0;
      tries < triesMax && Math.min(outcomes.mounted, outcomes.refused) < timesMin;
      tries += 1
    ) {
      const outcome = await tryPart(setup, pod, tries)
      outcomes[outcome] += 1
    }
  } finally {
    hostile.kill('SIGKILL')
    await ended
  }
  t.diagnostic(JSON.stringify(outcomes))
  assert.ok(outcomes.mounted > 0 && outcomes.refused > 0, 'both were seen')
  assert.deepEqual(await readdir(setup.folder), ['secret', 'x'], 'nothing was made outside')
  assert.deepEqual(await readdir(join(setup.folder, 'x')), ['secret'])
})

async function tryPart(
  setup: TestVolumes,
  pod: KubeletPod,
  tries: number,
): Promise<'mounted' | 'refused' | 'vanished'> {
  const part = tries % 2 === 0 ? 'part' : 'part/x'
  try {
    const names = await readdir(await partOf(setup, pod, part, tries % 4))
    assert.ok(!names.includes('secret'), `${part} is outside`)
    return 'mounted'
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error
    return error instanceof Error && 'code' in error && error.code === 'ELOOP' ? 'refused' : 'vanished'
  }
}

test('files in volumes are read without following links out of them', { skip: needsRoot }, async t => {
  const setup = await startTestVolumes(t)
  const { path } = await preparedPod(setup, { name: 'v', emptyDir: {} })
  const read = (name: string): Promise<string | undefined> => setup.volumes.readFile({ hostPath: path }, name)
  await writeFile(join(path, 'file'), "A='b'")
  await symlink('/etc/passwd', join(path, 'link'))
  await setup.linux.run(['mkfifo', join(path, 'pipe')])
  await writeFile(join(path, 'large'), Buffer.alloc(2 * 1024 * 1024))
  assert.equal(await read('file'), "A='b'")
  assert.equal(await read('none'), undefined)
  await assert.rejects(read('link'), { code: 'ELOOP' })
  await assert.rejects(read('pipe'), /is not a file/)
  await assert.rejects(read('large'), /is larger than/)
})

test('after a crash all mounts of a pod are removed, and nothing else', { skip: needsRoot }, async t => {
  const setup = await startTestVolumes(t)
  const { linux, node, signal } = setup
  const { pod, path } = await preparedPod(setup, { name: 'v', emptyDir: { medium: 'Memory' } })
  await partOf(setup, pod, 'part')
  const other = await preparedPod(setup, { name: 'v', emptyDir: { medium: 'Memory' } })
  // Mounts and files created by a container.
  await writeFile(join(setup.folder, 'kept'), 'of the node')
  await mkdir(join(path, 'host'))
  await linux.mounts.bind(setup.folder, join(path, 'host'))
  await mkdir(join(node.rootDirectory, 'pods', pod.metadata.uid, 'volumes/disk/host'), { recursive: true })
  await linux.mounts.bind(
    setup.folder,
    join(node.rootDirectory, 'pods', pod.metadata.uid, 'volumes/disk/host'),
  )
  await symlink(setup.folder, join(node.rootDirectory, 'pods', pod.metadata.uid, 'volumes/disk/link'))
  const restarted = setup.restarted()
  await restarted.unmount(pod.metadata.uid, signal)
  await restarted.unmount(pod.metadata.uid, signal)
  assert.deepEqual(await restarted.podsWithVolumes(), [other.pod.metadata.uid])
  assert.equal((await setup.mounts()).length, 1)
  assert.equal(await readFile(join(setup.folder, 'kept'), 'utf8'), 'of the node')
  await assert.rejects(restarted.unmount('..', signal), /uid/)
  await assert.rejects(restarted.unmount('', signal), /uid/)
})

test('a host path behind a symbolic link is mounted', { skip: needsRoot }, async t => {
  const setup = await startTestVolumes(t)
  const { platform, linux, client, objects, signal } = setup
  await mkdir(join(setup.folder, 'real'))
  await symlink('real', join(setup.folder, 'link'))
  const node = { ...setup.node, folder: join(setup.folder, 'link') }
  const make = (): PodVolumes =>
    new PodVolumes({
      metrics: new KubeletMetrics(),
      platform,
      linux,
      client,
      node,
      objects,
      allocatable: () => ({}),
    })
  const memory = { name: 'v', emptyDir: { medium: 'Memory' } }
  const pod = await setup.createPod({ containers: [containerWith('v')], volumes: [memory] })
  await make().mount(pod, signal)
  await make().mount(pod, signal)
  assert.equal((await setup.mounts()).length, 1)
  await make().unmount(pod.metadata.uid, signal)
  assert.deepEqual(await setup.mounts(), [])
})

test(
  'a full disk fails the mount with the reason, and the incomplete volume can be removed',
  { skip: needsRoot },
  async t => {
    const setup = await startTestVolumes(t)
    const { linux, node, client, createPod, volumes, signal } = setup
    await mkdir(node.rootDirectory, { recursive: true })
    await linux.mounts.tmpfs(node.rootDirectory, { sizeBytes: 128 * 1024 })
    const data = { key: 'x'.repeat(500_000) }
    await client.create(configMaps, { metadata: { namespace: 'default', name: 'c' }, data })
    const pod = await createPod({
      containers: [containerWith('v')],
      volumes: [{ name: 'v', configMap: { name: 'c' } }],
    })
    await assert.rejects(volumes.mount(pod, signal), /MountVolume.SetUp failed for volume "v" : ENOSPC/)
    await volumes.unmount(pod.metadata.uid, signal)
    assert.deepEqual(await volumes.podsWithVolumes(), [])
  },
)

test('concurrent volume operations of one pod are serialized', { skip: needsRoot }, async t => {
  const setup = await startTestVolumes(t)
  const { volumes, signal } = setup
  const { pod } = await preparedPod(setup, { name: 'v', emptyDir: { medium: 'Memory' } })
  await volumes.unmount(pod.metadata.uid, signal)
  const all = [1, 2, 3, 4].map(() => volumes.mount(pod, signal))
  await Promise.all([...all, volumes.refresh(pod, signal)])
  assert.equal((await setup.mounts()).length, 1)
  await Promise.all([volumes.unmount(pod.metadata.uid, signal), volumes.unmount(pod.metadata.uid, signal)])
  assert.deepEqual([await setup.mounts(), await volumes.podsWithVolumes()], [[], []])
})

test('an aborted mount leaves nothing', { skip: needsRoot }, async t => {
  const setup = await startTestVolumes(t)
  const { volumes, signal } = setup
  const names = ['a', 'b', 'c']
  const pod = await setup.createPod({
    containers: [containerWith(...names)],
    volumes: names.map(name => ({ name, emptyDir: { medium: 'Memory' } })),
  })
  for (const turns of [0, 1, 5, 20, 50]) {
    const stopping = new AbortController()
    const preparing = volumes.mount(pod, stopping.signal)
    for (let turn = 0; turn < turns; turn += 1) await setImmediate()
    stopping.abort(new Error('enough'))
    const releasing = volumes.unmount(pod.metadata.uid, signal)
    // On a slow machine it may complete before it is aborted.
    await preparing.catch((error: unknown) => assert.match(String(error), /enough/))
    await releasing
    assert.deepEqual([await setup.mounts(), await volumes.podsWithVolumes()], [[], []])
  }
})
