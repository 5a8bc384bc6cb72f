/** Image pulls from a registry on loopback into a private containerd. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Secret } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import type { Image } from '#/cri/cri.ts'
import { ImageError, Images } from '#/kubelet/images.ts'
import type { KubeletPod } from '#/kubelet/kubelet-pod.ts'
import { containersMissing, TestContainerd } from './test-containerd.ts'
import { busyboxReference, testImage, textFile } from './test-images.ts'
import { registryMissing, registryUser, TestRegistry } from './test-registry.ts'
import { KubeletMetrics } from '#/kubelet/kubelet-metrics.ts'
import { PodStartupLatency } from '#/kubelet/pod-startup-latency.ts'

const reason = containersMissing || registryMissing
if (reason) test('images', { skip: reason })
else pullImages()

interface World {
  readonly node: TestContainerd
  readonly open: TestRegistry
  readonly closed: TestRegistry
}

function pullImages(): void {
  let world: World | undefined
  before(async () => {
    const node = await TestContainerd.start()
    const open = await TestRegistry.start({ isPrivate: false })
    const closed = await TestRegistry.start({ isPrivate: true })
    world = { node, open, closed }
    await open.serve(node, '_default')
    await closed.serve(node, 'private.example')
    const files = [textFile('etc/it', 'other')]
    const [other = ''] = await node.load(await testImage({ reference: 'docker.io/library/other:1', files }))
    await open.push(node, busyboxReference, 'team/it:1')
    await closed.push(node, busyboxReference, 'team/it:1')
    await closed.push(node, other, 'team/other:1')
    for (const image of [busyboxReference, other]) await node.runtime.removeImage(image)
  })
  after(async () => {
    for (const part of [world?.open, world?.closed, world?.node]) await part?.[Symbol.asyncDispose]()
  })

  test('an image is pulled once, by tag and by digest', async () => {
    const { ensure, told } = kubelet(world!.node)
    const image = await ensure('open.example/team/it:1')
    assert.ok(typeof image === 'object' && image.sizeBytes > 0)
    assert.deepEqual(image.tags, ['open.example/team/it:1'])
    assert.match(told(), /^Pulling image "open.example\/team\/it:1"\nSuccessfully pulled image /)
    const size = `Image size: ${image.sizeBytes} bytes.`
    assert.ok(told().endsWith(size), told())
    const again = kubelet(world!.node)
    assert.deepEqual(await again.ensure('open.example/team/it:1'), image)
    assert.match(again.told(), /already present on machine and can be accessed by the pod$/)
    const byDigest = await kubelet(world!.node).ensure(image.digests[0]!)
    assert.equal(typeof byDigest === 'object' && byDigest.id, image.id)
  })

  test('pulling a missing image fails with not found', async () => {
    const { ensure, told } = kubelet(world!.node)
    assert.match(
      await refusal(ensure('open.example/team/it:2')),
      /^ErrImagePull: .*open.example\/team\/it:2: not found$/,
    )
    assert.match(told(), /^Pulling image .*\nFailed to pull image .*: not found\nError: ErrImagePull$/)
    assert.match(
      await refusal(ensure('open.example/team/it:2')),
      /^ImagePullBackOff: Back-off pulling image .*not found$/,
    )
  })

  test('a private image needs a pull secret', async () => {
    const image = 'private.example/team/it:1'
    const node = kubelet(world!.node, {
      right: registryUser,
      wrong: { username: 'me', password: 'wrong' },
    })
    assert.match(await refusal(node.ensure(image)), /^ErrImagePull: .*(?:401|authoriz|basic credentials)/i)
    assert.match(await refusal(node.ensure(image, ['wrong'])), /^ErrImagePull: .*401/)
    const pulled = await node.ensure(image, ['wrong', 'right'])
    assert.ok(typeof pulled === 'object' && pulled.tags.includes(image))
    assert.match(await refusal(node.ensure(image)), /^ImagePullBackOff/, 'it is there, but not for everybody')
    assert.deepEqual(await node.ensure(image, ['right']), pulled)
  })

  test('image garbage collection removes unused images when the disk is full', async () => {
    const { runtime } = world!.node
    const node = kubelet(world!.node, { right: registryUser }, 0)
    await node.ensure('private.example/team/other:1', ['right'])
    const tags = async (): Promise<string[]> => {
      const images = await runtime.listImages()
      return images.flatMap(image => image.tags).sort()
    }
    const before = await tags()
    assert.ok(before.includes('private.example/team/other:1'))
    await node.images.collect({ capacityBytes: 1_000, availableBytes: 900 })
    assert.deepEqual(await tags(), before)
    await node.images.collect({ capacityBytes: 1e12, availableBytes: 0 })
    assert.deepEqual(await tags(), ['registry.k8s.io/pause:3.10'])
  })
}

async function refusal(ensuring: Promise<Image | string>): Promise<string> {
  const result = await ensuring
  return typeof result === 'string' ? result : 'it was not refused'
}

let pods = 0

/** Each call is for a new pod, unless it has the same image and secrets. */
function kubelet(
  node: TestContainerd,
  users: Readonly<Record<string, { readonly username: string; readonly password: string }>> = {},
  minimumAgeMs = 120_000,
) {
  const messages: string[] = []
  const metrics = new KubeletMetrics()
  const images = new Images({
    metrics,
    startup: new PodStartupLatency(node.platform.clock, metrics.pods),
    platform: node.platform,
    runtime: node.runtime,
    objects: { secret: async (namespace, name) => secretOf(namespace, name, users[name]) },
    recorder: { record: (_, { message }) => void messages.push(message) },
    node: {
      rootDirectory: join(node.folder, 'kubelet'),
      imageGc: { highPercent: 85, lowPercent: 80, minimumAgeMs },
    },
    pinnedImages: ['registry.k8s.io/pause:3.10'],
  })
  const uids = new Map<string, string>()
  const ensure = async (image: string, secrets: readonly string[] = []): Promise<Image | string> => {
    const key = [image, ...secrets].join()
    const uid = uids.get(key) ?? `pod-${pods++}`
    uids.set(key, uid)
    const container = { name: 'it', image, imagePullPolicy: 'IfNotPresent' }
    const imagePullSecrets = secrets.map(name => ({ name }))
    const pod: KubeletPod = {
      metadata: { uid, name: 'it', namespace: 'default' },
      spec: { containers: [container], imagePullSecrets },
    }
    try {
      return await images.ensure(pod, container, new AbortController().signal)
    } catch (error) {
      assert.ok(error instanceof ImageError, String(error))
      return `${error.reason}: ${error.message}`
    }
  }
  return { images, ensure, told: () => messages.join('\n') }
}

function secretOf(
  namespace: string,
  name: string,
  user: { readonly username: string; readonly password: string } | undefined,
): Stored<Secret> | undefined {
  if (user === undefined) return undefined
  const auth = Buffer.from(`${user.username}:${user.password}`).toString('base64')
  const content = JSON.stringify({ auths: { 'private.example': { auth } } })
  return {
    metadata: {
      namespace,
      name,
      uid: `uid of ${name}`,
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
    type: 'kubernetes.io/dockerconfigjson',
    data: { '.dockerconfigjson': Buffer.from(content).toString('base64') },
  }
}
