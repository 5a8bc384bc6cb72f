import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { execFileSync } from 'node:child_process'
import { appendFile, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { CriError } from '#/cri/cri.ts'
import { ImageFolder } from '#/cri/image-folder.ts'
import { ensurePauseImage, loadImage } from '#/cri/load-image.ts'
import { ociArchive } from '#/cri/oci-archive.ts'
import { tar, type TarEntry } from '#/base/tar.ts'
import { pauseImage } from '#/cri/private-containerd.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { waitUntil } from '../wait-until.ts'
import { containersMissing, TestContainerd } from './test-containerd.ts'
import { busyboxImage, busyboxReference, testImage } from './test-images.ts'
import { registryUser, TestRegistry } from './test-registry.ts'

describe('images in containerd', { skip: containersMissing }, () => {
  let node: TestContainerd
  before(async () => {
    node = await TestContainerd.start()
  })
  after(() => node[Symbol.asyncDispose]())

  test('loading an archive, compressed or not, is idempotent and returns the image names', async () => {
    const reference = 'example.com/some/app:v1'
    const config = { user: '1000:1000', workingDir: '/tmp', exposedPorts: ['80/tcp'] }
    const archive = await testImage({ reference, config })
    for (const bytes of [archive, gzipSync(archive), archive])
      assert.deepEqual(await node.load(bytes), [reference])
    const image = await node.runtime.imageStatus(reference)
    assert.deepEqual([image?.tags, image?.uid, image?.isPinned], [[reference], 1_000, false])
  })

  test('an archive of `docker save` may have several names for one image', async () => {
    const layer = tar([{ type: 'file', path: 'hello', content: Buffer.from('hello') }])
    const config = JSON.stringify({
      architecture: node.linux.machine.architecture,
      os: 'linux',
      config: { Cmd: ['/hello'] },
      rootfs: { type: 'layers', diff_ids: [`sha256:${createHash('sha256').update(layer).digest('hex')}`] },
    })
    const manifest = [
      { Config: 'config.json', RepoTags: ['saved:1', 'example.com/saved:2'], Layers: ['layer.tar'] },
    ]
    const archive = tar([
      { type: 'file', path: 'layer.tar', content: layer },
      { type: 'file', path: 'config.json', content: Buffer.from(config) },
      { type: 'file', path: 'manifest.json', content: Buffer.from(JSON.stringify(manifest)) },
    ])
    assert.deepEqual(await node.load(archive), ['docker.io/library/saved:1', 'example.com/saved:2'])
    const [one, two] = [
      await node.runtime.imageStatus('saved:1'),
      await node.runtime.imageStatus('example.com/saved:2'),
    ]
    assert.ok(one && one.id === two?.id)
  })

  test('loading a file that is no image archive fails and leaves nothing', async () => {
    const before = await node.runtime.listImages()
    const nameless = await testImage({ reference: 'latest' })
    const cut = (await testImage({ reference: 'example.com/cut:1' })).subarray(0, 5_000)
    for (const bytes of [new Uint8Array(), Buffer.from('garbage'), gzipSync('garbage'), cut, nameless])
      await assert.rejects(node.load(bytes), {
        name: 'CriError',
        reason: 'failed',
        message: /^cannot load \S+: ./,
      })
    await assert.rejects(loadImage(node.loader, join(node.folder, 'absent.tar')), (error: unknown) => {
      return error instanceof CriError && error.reason === 'not-found'
    })
    const names = (images: Awaited<typeof before>) => images.flatMap(({ tags }) => tags).sort()
    assert.deepEqual(names(await node.runtime.listImages()), names(before))
  })

  test('archives of a folder are imported when they are complete, and pinned while they are there', async () => {
    const folder = join(node.folder, 'images')
    const images = new ImageFolder({ ...node.loader, folder })
    const references = ['example.com/air:1', 'example.com/air:2', 'example.com/air:3']
    const archives = await Promise.all(references.map(reference => testImage({ reference })))
    const pinned = async (): Promise<readonly string[]> => {
      const { socketPath } = node.loader
      const ctr = ['ctr', '--address', socketPath, '--namespace', 'k8s.io', 'images', 'ls', '-q']
      const labelled = await node.linux.run([...ctr, 'labels."io.cri-containerd.pinned"==pinned'])
      return labelled.split('\n').filter(name => name.startsWith('example.com/air'))
    }
    await mkdir(folder)
    await writeFile(join(folder, 'one.tar'), archives[0]!)
    await writeFile(join(folder, 'two.tgz'), gzipSync(archives[1]!))
    await writeFile(join(folder, 'damaged.tar'), 'garbage')
    await writeFile(join(folder, 'notes.txt'), 'no image')
    assert.deepEqual(await images.import(), references.slice(0, 2))
    assert.deepEqual(await pinned(), references.slice(0, 2))
    const stopping = new AbortController()
    const running = images.run(stopping.signal)
    const untilPinned = (expected: readonly string[]) =>
      waitUntil(async () => (await pinned()).join() === expected.join())
    await rm(join(folder, 'damaged.tar'))
    await rm(join(folder, 'two.tgz'))
    await untilPinned([references[0]!])
    const archive = archives[2]!
    await writeFile(join(folder, 'three.tar'), archive.subarray(0, 4_000))
    await appendFile(join(folder, 'three.tar'), archive.subarray(4_000))
    await untilPinned([references[0]!, references[2]!])
    stopping.abort()
    await running
    // The removed archive leaves the image: pods may use it.
    assert.ok(await node.runtime.imageStatus(references[1]!))
  })

  test('the pause image is created once and pinned', async () => {
    assert.equal(await ensurePauseImage(node.loader), 'present')
    assert.equal((await node.runtime.imageStatus(pauseImage))?.isPinned, true)
    const pinned = (await node.runtime.listImages()).filter(({ isPinned }) => isPinned)
    assert.deepEqual(
      pinned.flatMap(({ tags }) => tags),
      [pauseImage],
    )
    await node.runtime.removeImage(pauseImage)
    assert.equal(await ensurePauseImage(node.loader), 'loaded')
  })

  test('a removed image is available after it is loaded again', async () => {
    await node.runtime.removeImage(busyboxReference)
    await node.runtime.removeImage(busyboxReference)
    assert.equal(await node.runtime.imageStatus('busybox'), undefined)
    assert.deepEqual(await node.load(await busyboxImage()), [busyboxReference])
    assert.ok(await node.runtime.imageStatus('busybox'))
  })

  test('pulling succeeds for an image in the registry and fails for a missing one', async () => {
    await using registry = await TestRegistry.start({ isPrivate: false })
    const { address } = registry
    await registry.push(node, busyboxReference, 'some/app:v1')
    await registry.serve(node, address)
    const reference = `${address}/some/app:v1`
    const id = await node.runtime.pullImage(reference, undefined)
    const image = await node.runtime.imageStatus(reference)
    assert.equal(image?.id, id)
    assert.match(image?.digests[0] ?? '', new RegExp(`^${address}/some/app@sha256:[0-9a-f]{64}$`))
    await assert.rejects(node.runtime.pullImage(`${address}/some/app:v2`, undefined), {
      name: 'CriError',
      reason: 'not-found',
      message: /not found/,
    })
  })

  test('pulling authenticates at a registry that requires it', async () => {
    await using registry = await TestRegistry.start({ isPrivate: true })
    await registry.push(node, busyboxReference, 'secret:v1')
    await registry.serve(node, registry.address)
    const reference = `${registry.address}/secret:v1`
    const { username, password } = registryUser
    for (const auth of [undefined, { username, password: 'guess' }])
      await assert.rejects(node.runtime.pullImage(reference, auth), { name: 'CriError', reason: 'failed' })
    assert.ok(await node.runtime.pullImage(reference, registryUser))
    await node.runtime.removeImage(reference)
    const auth = Buffer.from(`${username}:${password}`).toString('base64')
    assert.ok(await node.runtime.pullImage(reference, { auth }))
  })
})

test('tar extracts our archives with long names, links, modes and owners', async t => {
  const folder = await temporaryFolder(t)
  const long = `${'long-folder-name/'.repeat(12)}file`
  const content = Buffer.from('content')
  const entries: readonly TarEntry[] = [
    { type: 'folder', path: 'tmp', mode: 0o1777 },
    { type: 'file', path: 'tmp/owned', mode: 0o640, uid: 1_000, gid: 2_000, content },
    { type: 'file', path: long, content: Buffer.alloc(100_000, 'x') },
    { type: 'symlink', path: 'soft', target: `../${long}` },
    { type: 'link', path: 'hard', target: 'tmp/owned' },
    { type: 'file', path: 'größe', mode: 0o4755, content: new Uint8Array() },
  ]
  const path = join(folder, 'it.tar')
  await writeFile(path, tar(entries))
  const listed = execFileSync('tar', ['-tvf', path, '--numeric-owner', '--quoting-style=literal'], {
    env: { LC_ALL: 'C.UTF-8', PATH: process.env['PATH'] },
  })
  const lines = listed.toString().trim().split('\n')
  assert.deepEqual(
    lines.map(line => line.replace(/\s+\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)? /, ' ').replaceAll(/\s+/g, ' ')),
    [
      'drwxrwxrwt 0/0 0 tmp/',
      '-rw-r----- 1000/2000 7 tmp/owned',
      `-rw-r--r-- 0/0 100000 ${long}`,
      `lrw-r--r-- 0/0 0 soft -> ../${long}`,
      'hrw-r--r-- 0/0 0 hard link to tmp/owned',
      '-rwsr-xr-x 0/0 0 größe',
    ],
  )
})

test('building the same image gives the same bytes', () => {
  const make = () =>
    ociArchive({
      reference: 'example.com/a:1',
      architecture: 'amd64',
      layers: [[{ type: 'file', path: 'a/b/c', content: Buffer.from('x') }]],
    })
  assert.deepEqual(make(), make())
})
