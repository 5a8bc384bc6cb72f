import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  chmod,
  chown,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { createServer } from 'node:net'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { PodSpec, Volume } from '#/api/generated/core/v1.ts'
import { configMaps, pods, secrets, serviceAccounts } from '#/api/generated/core/v1-resources.ts'
import { decodeToken } from '#/base/json-web-token.ts'
import type { KubeletPod } from '#/kubelet/kubelet-pod.ts'
import { VolumeError } from '#/kubelet/volumes.ts'
import { containerWith, needsRoot, startTestVolumes, type TestVolumes } from './test-volumes.ts'

function specOf(volumes: readonly Volume[], more: Partial<PodSpec> = {}): PodSpec {
  return { containers: [containerWith(...volumes.map(({ name }) => name))], volumes, ...more }
}

async function pathOf({ volumes, signal }: TestVolumes, pod: KubeletPod, name: string): Promise<string> {
  return (await volumes.mount(pod, signal)).get(name)?.hostPath ?? ''
}

/** The events of a pod with volumes that cannot be prepared. */
async function eventsOf({ volumes, signal }: TestVolumes, pod: KubeletPod): Promise<readonly string[]> {
  try {
    await volumes.mount(pod, signal)
    return []
  } catch (error) {
    assert.ok(error instanceof VolumeError, String(error))
    return error.events
  }
}

const modeOf = async (path: string): Promise<string> => ((await stat(path)).mode & 0o7777).toString(8)
const base64 = (text: string): string => Buffer.from(text).toString('base64')

test(
  'an emptyDir is world-writable or has the fsGroup, and outlives the kubelet',
  { skip: needsRoot },
  async t => {
    const setup = await startTestVolumes(t)
    const { createPod, restarted, volumes, signal, node } = setup
    const plain = await createPod(specOf([{ name: 'v', emptyDir: {} }]))
    assert.equal(await modeOf(await pathOf(setup, plain, 'v')), '777')
    const pod = await createPod(
      specOf(
        [
          { name: 'v', emptyDir: {} },
          { name: 'unused', emptyDir: {} },
        ],
        {
          securityContext: { fsGroup: 1234 },
          containers: [containerWith('v')],
        },
      ),
    )
    const path = await pathOf(setup, pod, 'v')
    assert.equal(
      path,
      join(node.rootDirectory, 'pods', pod.metadata.uid, 'volumes/kubernetes.io~empty-dir/v'),
    )
    assert.deepEqual(await readdir(join(path, '..')), ['v'])
    assert.equal(await modeOf(path), '2777')
    assert.equal((await stat(path)).gid, 1234)
    await writeFile(join(path, 'file'), 'kept')
    await chown(join(path, 'file'), 5, 5)
    const again = (await restarted().mount(pod, signal)).get('v')
    assert.deepEqual(again, { name: 'v', hostPath: path, readonly: false, selinuxRelabel: true })
    assert.equal((await stat(join(path, 'file'))).gid, 5, 'what runs already is not changed')
    assert.deepEqual(
      [...(await volumes.podsWithVolumes())].sort(),
      [plain.metadata.uid, pod.metadata.uid].sort(),
    )
    for (const each of [plain, pod]) await volumes.unmount(each.metadata.uid, signal)
    assert.deepEqual(await volumes.podsWithVolumes(), [])
  },
)

test(
  'an emptyDir in memory has its size limit, outlives the kubelet and is removed with the pod',
  { skip: needsRoot },
  async t => {
    const setup = await startTestVolumes(t)
    const { createPod, restarted, volumes, signal, mounts, linux } = setup
    const pod = await createPod(
      specOf([
        { name: 'limited', emptyDir: { medium: 'Memory', sizeLimit: '64Ki' } },
        { name: 'free', emptyDir: { medium: 'Memory' } },
      ]),
    )
    const path = await pathOf(setup, pod, 'limited')
    await assert.rejects(writeFile(join(path, 'large'), Buffer.alloc(128 * 1024)), { code: 'ENOSPC' })
    await rm(join(path, 'large'))
    await writeFile(join(path, 'small'), 'x')
    assert.equal((await linux.files.space(await pathOf(setup, pod, 'free'))).totalBytes, 64 * 1024 * 1024)
    await restarted().mount(pod, signal)
    assert.equal((await mounts()).length, 2)
    assert.equal(await readFile(join(path, 'small'), 'utf8'), 'x')
    await volumes.unmount(pod.metadata.uid, signal)
    assert.deepEqual(await mounts(), [])
  },
)

test(
  'an unknown or unrequested emptyDir medium is rejected with the reason',
  { skip: needsRoot },
  async t => {
    const setup = await startTestVolumes(t)
    const pod = await setup.createPod(specOf([{ name: 'v', emptyDir: { medium: 'HugePages' } }]))
    assert.deepEqual(await eventsOf(setup, pod), [
      'MountVolume.SetUp failed for volume "v" : ' +
        'medium HugePages: hugePages storage requested, but there is no resource request for huge pages',
    ])
    await setup.volumes.unmount(pod.metadata.uid, setup.signal)
    assert.deepEqual(await setup.volumes.podsWithVolumes(), [])
  },
)

test('an emptyDir of huge pages has the page size that containers request', { skip: needsRoot }, async t => {
  const setup = await startTestVolumes(t)
  const resources = { requests: { 'hugepages-2Mi': '2Mi' }, limits: { 'hugepages-2Mi': '2Mi', 'cpu': '1' } }
  const pod = await setup.createPod({
    containers: [{ ...containerWith('v'), resources }],
    volumes: [{ name: 'v', emptyDir: { medium: 'HugePages-2Mi' } }],
  })
  const path = await pathOf(setup, pod, 'v')
  const mount = (await setup.linux.mounts.list()).find(each => each.path === path)
  assert.equal(mount?.type, 'hugetlbfs')
})

const contents: readonly Volume[] = [
  { name: 'config', configMap: { name: 'c', defaultMode: 0o640 } },
  { name: 'items', configMap: { name: 'c', items: [{ key: 'b', path: 'deep/er', mode: 0o400 }] } },
  { name: 'secret', secret: { secretName: 's' } },
  {
    name: 'pod',
    downwardAPI: {
      items: [
        { path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } },
        { path: 'cpu', resourceFieldRef: { containerName: 'main', resource: 'limits.cpu' } },
      ],
    },
  },
  {
    name: 'all',
    projected: {
      sources: [
        { configMap: { name: 'c' } },
        { secret: { name: 's', items: [{ key: 'p', path: 'secret' }] } },
        { configMap: { name: 'none', optional: true } },
        { downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } },
        { serviceAccountToken: { path: 'token', audience: 'a' } },
      ],
    },
  },
]

async function createSources({ client }: TestVolumes): Promise<void> {
  const metadata = { namespace: 'default', name: 'c' }
  await client.create(configMaps, { metadata, data: { a: 'one' }, binaryData: { b: base64('\u0000two') } })
  await client.create(secrets, { metadata: { ...metadata, name: 's' }, data: { p: base64('word') } })
}

test(
  'config map and secret volumes have their files and modes, and secrets are in memory only',
  { skip: needsRoot },
  async t => {
    const setup = await startTestVolumes(t)
    await createSources(setup)
    const pod = await setup.createPod(specOf(contents), { name: 'one', labels: { x: 'y' } })
    const prepared = await setup.volumes.mount(pod, setup.signal)
    assert.ok([...prepared.values()].every(({ readonly }) => readonly))
    const at = (name: string, ...path: readonly string[]): string =>
      join(prepared.get(name)?.hostPath ?? '', ...path)
    const read = (name: string, path: string): Promise<string> => readFile(at(name, path), 'utf8')
    assert.equal(await read('config', 'a'), 'one')
    assert.equal(await read('config', 'b'), '\u0000two')
    assert.equal(await modeOf(at('config', 'a')), '640')
    assert.deepEqual(
      (await readdir(at('items'))).filter(name => !name.startsWith('..')),
      ['deep'],
    )
    assert.equal(await read('items', 'deep/er'), '\u0000two')
    assert.equal(await modeOf(at('items', 'deep/er')), '400')
    assert.equal(await readlink(at('items', 'deep')), '..data/deep')
    assert.equal(await read('secret', 'p'), 'word')
    assert.equal(await modeOf(at('secret', 'p')), '644')
    assert.equal(await read('pod', 'labels'), 'x="y"')
    assert.equal(await read('pod', 'cpu'), '2')
    const names = (await readdir(at('all'))).filter(name => !name.startsWith('..'))
    assert.deepEqual(names, ['a', 'b', 'name', 'secret', 'token'])
    assert.equal(await read('all', 'name'), 'one')
    assert.deepEqual(decodeToken(await read('all', 'token'))?.claims['aud'], ['a'])
    const mounted = (await setup.mounts()).map(path => basename(path))
    assert.deepEqual(mounted.sort(), ['all', 'pod', 'secret'])
  },
)

test('config map and secret volumes are updated atomically', { skip: needsRoot }, async t => {
  const setup = await startTestVolumes(t)
  const { client, volumes, signal, objects } = setup
  const data = (value: string): Readonly<Record<string, string>> => ({ first: value, last: value })
  const config = { metadata: { namespace: 'default', name: 'c' }, data: data('0') }
  await client.create(configMaps, config)
  const pod = await setup.createPod(specOf([{ name: 'v', configMap: { name: 'c' } }]))
  const path = await pathOf(setup, pod, 'v')
  const stopped = new AbortController()
  let reads = 0
  const reading = (async () => {
    while (!stopped.signal.aborted) {
      // As a program that needs consistent files: it keeps using the same timestamped folder.
      const current = await readlink(join(path, '..data'))
      const both = await Promise.all(
        ['first', 'last'].map(name => readFile(join(path, current, name), 'utf8')),
      ).catch(() => undefined)
      if (both) assert.equal(both[0], both[1])
      await readFile(join(path, 'first'), 'utf8')
      reads += 1
    }
  })()
  const changed = new Set<string>()
  objects.onChange(uids => uids.forEach(uid => void changed.add(uid)))
  for (let round = 1; round <= 20; round += 1) {
    await client.update(configMaps, { ...config, data: data(String(round)) })
    while (!changed.delete(pod.metadata.uid)) await setImmediate()
    await volumes.refresh(pod, signal)
    assert.equal(await readFile(join(path, 'last'), 'utf8'), String(round))
  }
  stopped.abort()
  await reading
  assert.ok(reads > 0)
  await client.update(configMaps, { ...config, data: { first: 'x', other: 'y' } })
  while (!changed.delete(pod.metadata.uid)) await setImmediate()
  await volumes.refresh(pod, signal)
  assert.deepEqual(
    (await readdir(path)).filter(name => !name.startsWith('..')),
    ['first', 'other'],
  )
  assert.equal((await readdir(path)).filter(name => name.startsWith('..')).length, 2, 'nothing old is left')
})

test(
  'an unchanged volume is not rewritten, also after a restart of the kubelet',
  { skip: needsRoot },
  async t => {
    const setup = await startTestVolumes(t)
    await createSources(setup)
    const [config, , secret] = contents
    const pod = await setup.createPod(specOf([config!, secret!]))
    const folders = async (): Promise<readonly string[]> => {
      const prepared = await setup.volumes.mount(pod, setup.signal)
      return Promise.all([...prepared.values()].map(({ hostPath }) => readlink(join(hostPath, '..data'))))
    }
    const before = await folders()
    assert.deepEqual(await folders(), before)
    await setup.restarted().mount(pod, setup.signal)
    assert.deepEqual(await folders(), before)
  },
)

test(
  'a missing required source fails the mount with the reason until it exists',
  { skip: needsRoot },
  async t => {
    const setup = await startTestVolumes(t)
    const { client, createPod, objects } = setup
    const pod = await createPod(
      specOf([
        { name: 'config', configMap: { name: 'y' } },
        { name: 'secret', secret: { secretName: 'z', items: [{ key: 'k', path: 'p' }] } },
        { name: 'maybe', secret: { secretName: 'none', optional: true } },
        { name: 'all', projected: { sources: [{ secret: { name: 'z' } }, { configMap: { name: 'y' } }] } },
      ]),
    )
    assert.deepEqual(await eventsOf(setup, pod), [
      'MountVolume.SetUp failed for volume "config" : configmap "y" not found',
      'MountVolume.SetUp failed for volume "secret" : secret "z" not found',
      'MountVolume.SetUp failed for volume "all" : [secret "z" not found, configmap "y" not found]',
    ])
    const told = new Promise<readonly string[]>(resolve => objects.onChange(resolve))
    await client.create(configMaps, { metadata: { namespace: 'default', name: 'y' }, data: {} })
    await client.create(secrets, { metadata: { namespace: 'default', name: 'z' }, data: {} })
    assert.deepEqual(await told, [pod.metadata.uid])
    assert.deepEqual(await eventsOf(setup, pod), [
      'MountVolume.SetUp failed for volume "secret" : references non-existent secret key: k',
    ])
    await client.patch(
      secrets,
      { namespace: 'default', name: 'z' },
      { type: 'merge', patch: { data: { k: 'eA==' } } },
    )
    while ((await eventsOf(setup, pod)).length > 0) await setImmediate()
    assert.equal(await readFile(join(await pathOf(setup, pod, 'secret'), 'p'), 'utf8'), 'x')
    await client.create(secrets, { metadata: { namespace: 'default', name: 'none' }, data: { late: 'eA==' } })
    const maybe = await pathOf(setup, pod, 'maybe')
    while (!(await readdir(maybe)).includes('late')) {
      await setup.volumes.refresh(pod, setup.signal)
      await setImmediate()
    }
  },
)

test(
  'a mounted volume is kept when its source is deleted, also after a restart of the kubelet',
  { skip: needsRoot },
  async t => {
    const setup = await startTestVolumes(t)
    await createSources(setup)
    const pod = await setup.createPod(specOf([{ name: 'v', secret: { secretName: 's' } }]))
    const path = await pathOf(setup, pod, 'v')
    await setup.client.delete(secrets, { namespace: 'default', name: 's' })
    while (await setup.objects.secret('default', 's')) await setImmediate()
    await assert.rejects(setup.volumes.refresh(pod, setup.signal), /secret "s" not found/)
    assert.equal(await pathOf(setup, pod, 'v'), path)
    assert.equal((await setup.restarted().mount(pod, setup.signal)).get('v')?.hostPath, path)
    assert.equal(await readFile(join(path, 'p'), 'utf8'), 'word')
  },
)

const tokenVolume: Volume = {
  name: 'token',
  projected: { sources: [{ serviceAccountToken: { path: 'token', expirationSeconds: 3_607 } }] },
}

test(
  'a service account token belongs to the user of the pod and is rotated before it expires',
  { skip: needsRoot },
  async t => {
    const setup = await startTestVolumes(t)
    const { volumes, signal } = setup
    const plain = await setup.createPod(specOf([tokenVolume]))
    assert.equal(await modeOf(join(await pathOf(setup, plain, 'token'), 'token')), '644')
    const pod = await setup.createPod(
      specOf([tokenVolume], { securityContext: { runAsUser: 77, fsGroup: 88 } }),
    )
    const file = join(await pathOf(setup, pod, 'token'), 'token')
    const first = await readFile(file, 'utf8')
    const { uid, gid } = await stat(file)
    assert.deepEqual([uid, gid, await modeOf(file)], [77, 88, '640'])
    const leftMs = volumes.nextRefreshMs(pod) ?? 0
    assert.ok(leftMs > 2_800_000 && leftMs < 2_900_000, String(leftMs))
    await volumes.refresh(pod, signal)
    assert.equal(await readFile(file, 'utf8'), first)
    setup.advance(leftMs + 1)
    assert.equal(volumes.nextRefreshMs(pod), 0)
    await volumes.refresh(pod, signal)
    assert.notEqual(await readFile(file, 'utf8'), first)
    assert.ok((volumes.nextRefreshMs(pod) ?? 0) > 2_800_000)
    await volumes.unmount(pod.metadata.uid, signal)
    assert.equal(volumes.nextRefreshMs(pod), undefined)
  },
)

test('mounting a token fails without its service account', { skip: needsRoot }, async t => {
  const setup = await startTestVolumes(t)
  const pod = await setup.createPod(specOf([tokenVolume]))
  await setup.client.delete(serviceAccounts, { namespace: 'default', name: 'default' })
  assert.deepEqual(await eventsOf(setup, pod), [
    'MountVolume.SetUp failed for volume "token" : failed to fetch token: serviceaccounts "default" not found',
  ])
  await setup.client.delete(
    pods,
    { namespace: 'default', name: pod.metadata.name },
    { gracePeriodSeconds: 0 },
  )
})

test('host paths are checked against their type, created, or rejected', { skip: needsRoot }, async t => {
  const setup = await startTestVolumes(t)
  const at = (name: string): string => join(setup.folder, name)
  await mkdir(at('folder'))
  await writeFile(at('file'), 'kept')
  await symlink('folder', at('link'))
  await symlink('nowhere', at('dangling'))
  await setup.linux.run(['mknod', at('device'), 'c', '1', '3'])
  await setup.linux.run(['mkfifo', at('pipe')])
  const server = createServer().listen(at('socket'))
  await once(server, 'listening')
  t.after(() => server.close())
  const failed = 'hostPath type check failed:'
  const cases: readonly (readonly [type: string, name: string, expected: string])[] = [
    ['', 'none', ''],
    ['Directory', 'folder', ''],
    ['Directory', 'link', ''],
    ['Directory', 'none', `${failed} ${at('none')} is not a directory`],
    ['Directory', 'file', `${failed} ${at('file')} is not a directory`],
    ['DirectoryOrCreate', 'new/deep', ''],
    ['DirectoryOrCreate', 'file', `${failed} ${at('file')} is not a directory`],
    ['File', 'file', ''],
    ['File', 'folder', `${failed} ${at('folder')} is not a file`],
    ['FileOrCreate', 'made', ''],
    ['FileOrCreate', 'file', ''],
    ['FileOrCreate', 'folder', `${failed} ${at('folder')} is not a file`],
    ['Socket', 'socket', ''],
    ['Socket', 'file', `${failed} ${at('file')} is not a socket file`],
    ['CharDevice', 'device', ''],
    ['CharDevice', 'pipe', `${failed} ${at('pipe')} is not a character device`],
    ['BlockDevice', 'device', `${failed} ${at('device')} is not a block device`],
    ['Directory', 'dangling', `${failed} ${at('dangling')} is not a directory`],
  ]
  for (const [type, name, expected] of cases) {
    const pod = await setup.createPod(specOf([{ name: 'v', hostPath: { path: at(name), type } }]))
    const [event = ''] = await eventsOf(setup, pod)
    assert.equal(
      event,
      expected && `MountVolume.SetUp failed for volume "v" : ${expected}`,
      `${type} ${name}`,
    )
    if (event === '') assert.equal(await pathOf(setup, pod, 'v'), at(name))
    await setup.volumes.unmount(pod.metadata.uid, setup.signal)
  }
  assert.equal(await modeOf(at('new/deep')), '755')
  assert.equal(await modeOf(at('made')), '644')
  assert.equal(await readFile(at('file'), 'utf8'), 'kept')
})

test('applying the fsGroup does not follow symbolic links', { skip: needsRoot }, async t => {
  const setup = await startTestVolumes(t)
  const outside = join(setup.folder, 'outside')
  await writeFile(outside, '')
  await chmod(outside, 0o600)
  const pod = await setup.createPod(
    specOf([{ name: 'v', emptyDir: {} }], { securityContext: { fsGroup: 99 } }),
  )
  const path = join(setup.node.rootDirectory, 'pods', pod.metadata.uid, 'volumes/kubernetes.io~empty-dir/v')
  await mkdir(path, { recursive: true })
  await symlink(outside, join(path, 'link'))
  await writeFile(join(path, 'file'), '')
  await pathOf(setup, pod, 'v')
  assert.equal((await lstat(join(path, 'link'))).gid, 99)
  assert.equal((await stat(join(path, 'file'))).gid, 99)
  assert.deepEqual([(await stat(outside)).gid, await modeOf(outside)], [0, '600'])
})

test('unsupported volume types are rejected with the reason', { skip: needsRoot }, async t => {
  const setup = await startTestVolumes(t)
  const pod = await setup.createPod(
    specOf([
      { name: 'a', csi: { driver: 'd.example.com' } },
      { name: 'b', nfs: { server: 's', path: '/p' } },
      { name: 'c', emptyDir: {} },
    ]),
  )
  assert.deepEqual(await eventsOf(setup, pod), [
    'MountVolume.SetUp failed for volume "a" : kubernetes.io/csi: mounter.SetUpAt failed to get CSI client: ' +
      'driver name d.example.com not found in the list of registered CSI drivers',
    'MountVolume.SetUp failed for volume "b" : volumes of type nfs are not supported by this node',
  ])
})

test('an image volume is left to the container start', { skip: needsRoot }, async t => {
  const setup = await startTestVolumes(t)
  const image = { reference: 'registry.example.com/data:1', pullPolicy: 'IfNotPresent' }
  const pod = await setup.createPod(specOf([{ name: 'v', image }]))
  const prepared = await setup.volumes.mount(pod, setup.signal)
  assert.deepEqual(prepared.get('v'), { name: 'v', hostPath: '', readonly: true, imageSource: image })
})

test('volume usage is measured on disk and in memory', { skip: needsRoot }, async t => {
  const setup = await startTestVolumes(t)
  await createSources(setup)
  const pod = await setup.createPod(
    specOf([
      { name: 'disk', emptyDir: {} },
      { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
      { name: 'host', hostPath: { path: '/usr' } },
      { name: 'config', configMap: { name: 'c' } },
    ]),
  )
  for (const name of ['disk', 'memory']) {
    await writeFile(join(await pathOf(setup, pod, name), 'file'), Buffer.alloc(512 * 1024, 1))
  }
  const usage = new Map((await setup.volumes.usage(pod)).map(each => [each.name, each]))
  assert.deepEqual([...usage.keys()], ['disk', 'memory', 'config'])
  const { disk, memory } = Object.fromEntries(usage)
  assert.ok((disk?.usedBytes ?? 0) >= 512 * 1024 && (disk?.usedBytes ?? 0) < 600 * 1024)
  assert.equal(disk?.usedInodes, 2)
  assert.ok((memory?.usedBytes ?? 0) >= 512 * 1024)
  assert.equal(memory?.space.totalBytes, 1024 * 1024)
  assert.deepEqual(
    [...usage.values()].map(({ isEphemeral }) => isEphemeral),
    [true, false, true],
  )
})
