import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Secret } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { SimulatedRuntime, type ImageScript } from '#/cri/simulated.ts'
import { Simulation } from '#/platform/simulated.ts'
import { ImageError, Images } from './images.ts'
import { kubeletPod, stored } from './testdata/objects.ts'
import { KubeletMetrics } from './kubelet-metrics.ts'
import { PodStartupLatency } from './pod-startup-latency.ts'

class World {
  readonly simulation = new Simulation({ seed: 1 })
  readonly platform = this.simulation.host('node')
  readonly runtime: SimulatedRuntime
  readonly secrets: Record<string, Stored<Secret>> = {}
  /** Events recorded since the last check. */
  told: string[] = []
  images: Images
  pulls = 0
  readonly metrics = new KubeletMetrics()

  constructor(images: Readonly<Record<string, ImageScript>> = {}, pullsMax = 4) {
    this.runtime = new SimulatedRuntime({ platform: this.platform, podCidrs: [], images })
    const pull = this.runtime.pullImage.bind(this.runtime)
    this.runtime.pullImage = (...given) => (this.pulls++, pull(...given))
    this.images = this.restarted(pullsMax)
  }

  /** Simulates a restart of the kubelet on the same node. */
  restarted(pullsMax = 4): Images {
    return new Images({
      metrics: this.metrics,
      startup: new PodStartupLatency(this.platform.clock, this.metrics.pods),
      platform: this.platform,
      runtime: this.runtime,
      objects: { secret: async (namespace, name) => this.secrets[`${namespace}/${name}`] },
      recorder: {
        record: (about, { type, reason, message, fieldPath = about.kind }) => {
          this.told.push(`${type === 'Warning' ? '!' : ''}${reason} ${fieldPath}: ${message}`)
        },
      },
      node: {
        rootDirectory: '/k',
        imageGc: { highPercent: 85, lowPercent: 80, minimumAgeMs: 120_000 },
      },
      pinnedImages: ['registry.k8s.io/pause:3.10'],
      pullsMax,
    })
  }

  /** The image id, or the reason of the error. */
  async ensure(
    image: string,
    more: { policy?: string; secrets?: string[]; pod?: string; namespace?: string } = {},
  ) {
    const { policy = 'IfNotPresent', secrets = [], pod: uid = 'u', namespace = 'default' } = more
    const container = { name: 'it', image, imagePullPolicy: policy }
    const imagePullSecrets = secrets.map(name => ({ name }))
    const pod = kubeletPod({
      kind: 'Pod',
      metadata: { uid, namespace },
      spec: { containers: [container], imagePullSecrets },
    })
    this.told = []
    try {
      const ensuring = this.images.ensure(pod, container, AbortSignal.timeout(60_000))
      const { tags } = await this.simulation.run(ensuring)
      return tags[0]
    } catch (error) {
      assert.ok(error instanceof ImageError, String(error))
      return `${error.reason}: ${error.message}`
    }
  }

  /** Recorded events followed by the result of `ensure`. */
  async story(image: string, more: Parameters<World['ensure']>[1] = {}): Promise<string[]> {
    const result = await this.ensure(image, more)
    const told = this.told.map(text => {
      return text.replace(' spec.containers{it}', '').replace(/\([0-9.]+s including/, '(T including')
    })
    return [...told, `=> ${result}`]
  }

  secret(key: string, username: string, password: string): void {
    const auths = { 'quay.io': { username, password } }
    const [namespace = '', name = ''] = key.split('/')
    this.secrets[key] = stored({
      metadata: { namespace, name, uid: `uid of ${key}` },
      type: 'kubernetes.io/dockerconfigjson',
      data: { '.dockerconfigjson': Buffer.from(JSON.stringify({ auths })).toString('base64') },
    })
  }
}

const auth = { username: 'me', password: 'secret' }
const refusal =
  'failed to pull and unpack image "quay.io/me/it:1": failed to resolve reference "quay.io/me/it:1": ' +
  'failed to authorize: unexpected status: 401 Unauthorized'
const isThere = (image: string): string =>
  `Pulled: Container image "${image}" already present on machine and can be accessed by the pod`

test('imagePullPolicy decides whether an image is pulled', async () => {
  const world = new World({ here: { isPresent: true }, slow: { pullMs: 1_234, sizeBytes: 4_711 } })
  const pulled = 'in 1.234s (T including waiting). Image size: 4711 bytes.'
  assert.deepEqual(await world.story('here'), [isThere('here'), '=> docker.io/library/here:latest'])
  assert.deepEqual(await world.story('here', { policy: 'Never' }), [
    isThere('here'),
    '=> docker.io/library/here:latest',
  ])
  assert.deepEqual(await world.story('absent', { policy: 'Never' }), [
    '!ErrImageNeverPull: Container image "absent" is not present with pull policy of Never',
    '!Failed: Error: ErrImageNeverPull',
    '=> ErrImageNeverPull: Container image "absent" is not present with pull policy of Never',
  ])
  assert.equal(world.pulls, 0)
  const expected = [
    'Pulling: Pulling image "slow"',
    `Pulled: Successfully pulled image "slow" ${pulled}`,
    '=> docker.io/library/slow:latest',
  ]
  assert.deepEqual(await world.story('slow'), expected)
  assert.deepEqual(await world.story('slow', { policy: 'Always' }), expected)
  assert.deepEqual(await world.story('slow'), [isThere('slow'), '=> docker.io/library/slow:latest'])
  assert.equal(world.pulls, 2)
})

test('an invalid image name is rejected with InvalidImageName', async () => {
  const world = new World()
  const text = 'Failed to apply default image tag "A/B::": couldn\'t parse image name "A/B::": '
  const reason = 'invalid reference format: repository name (B) must be lowercase'
  assert.deepEqual(await world.story('A/B::'), [
    `!InspectFailed: ${text}${reason}`,
    '!Failed: Error: InvalidImageName',
    `=> InvalidImageName: ${text}${reason}`,
  ])
})

test('a failed pull is retried with exponential backoff', async () => {
  const world = new World({ gone: { pullError: 'not found' } })
  const name = 'docker.io/library/gone:latest'
  const message = `failed to pull and unpack image "${name}": failed to resolve reference "${name}": not found`
  assert.deepEqual(await world.story('gone'), [
    'Pulling: Pulling image "gone"',
    `!Failed: Failed to pull image "gone": ${message}`,
    '!Failed: Error: ErrImagePull',
    `=> ErrImagePull: ${message}`,
  ])
  assert.deepEqual(await world.story('gone'), [
    'BackOff: Back-off pulling image "gone"',
    '!Failed: Error: ImagePullBackOff',
    `=> ImagePullBackOff: Back-off pulling image "gone": ErrImagePull: ${message}`,
  ])
  assert.match((await world.ensure('gone', { pod: 'other' })) ?? '', /^ErrImagePull/, 'each pod by itself')
  const waits: number[] = []
  for (let seconds = 1, last = 0; waits.length < 7; seconds++) {
    await world.simulation.advance(1_000)
    const result = await world.ensure('gone')
    if (result?.startsWith('ErrImagePull')) waits.push(seconds - last)
    if (result?.startsWith('ErrImagePull')) last = seconds
  }
  assert.deepEqual(waits, [10, 20, 40, 80, 160, 300, 300])
  world.runtime.setImage('gone', {})
  await world.simulation.advance(300_000)
  assert.equal(await world.ensure('gone'), name)
})

test('pull errors of runtimes are mapped to CRI reasons', async () => {
  const world = new World()
  const cases = {
    RegistryUnavailable:
      'RegistryUnavailable: image pull failed for x because the registry is unavailable: gone',
    SignatureValidationFailed:
      'SignatureValidationFailed: image pull failed for x because the signature validation failed: gone',
  }
  for (const [word, expected] of Object.entries(cases)) {
    world.runtime.pullImage = () => Promise.reject(new Error(`${word}: gone`))
    assert.equal(await world.ensure('x', { pod: word }), expected)
  }
  world.runtime.faults.disconnect()
  assert.match(
    (await world.ensure('x')) ?? '',
    /^ImageInspectError: Failed to inspect image "x:latest": simulated container runtime/,
  )
})

test('pull secrets are tried in order', async () => {
  const world = new World({ 'quay.io/me/it:1': { auth } })
  const image = 'quay.io/me/it:1'
  assert.equal(await world.ensure(image), `ErrImagePull: ${refusal}`)
  world.secret('default/wrong', 'you', 'x')
  world.secret('default/right', 'me', 'secret')
  const [missing, ...rest] = await world.story(image, { pod: 'b', secrets: ['absent', 'wrong', 'right'] })
  assert.equal(
    missing,
    '!FailedToRetrieveImagePullSecret Pod: Unable to retrieve some image pull secrets (absent); ' +
      'attempting to pull the image may not succeed.',
  )
  assert.equal(rest.at(-1), `=> ${image}`)
  assert.equal(world.pulls, 3)
})

test('an image pulled with a secret is available to pods with that secret only, also after a restart', async () => {
  const world = new World({ 'quay.io/me/it:1': { auth }, 'here': { isPresent: true } })
  const image = 'quay.io/me/it:1'
  world.secret('default/right', 'me', 'secret')
  world.secret('other/copy', 'me', 'secret')
  await world.ensure(image, { secrets: ['right'] })
  for (const life of ['first', 'second']) {
    const pods = `pod of the ${life} life`
    assert.deepEqual(await world.story(image, { secrets: ['right'], pod: pods }), [
      isThere(image),
      `=> ${image}`,
    ])
    const copy = { secrets: ['copy'], namespace: 'other', pod: pods }
    assert.deepEqual(await world.story(image, copy), [isThere(image), `=> ${image}`])
    assert.equal(await world.ensure(image, { namespace: 'other', pod: pods }), `ErrImagePull: ${refusal}`)
    const never = await world.ensure(image, { namespace: 'other', policy: 'Never' })
    assert.match(never ?? '', /^ErrImageNeverPull/, 'nobody learns that it is there')
    assert.equal(await world.ensure('here'), 'docker.io/library/here:latest')
    world.images = world.restarted()
  }
})

test('an image whose pull was interrupted needs credentials unless it was present before', async () => {
  for (const isPresent of [false, true]) {
    const image = 'quay.io/me/it:1'
    const world = new World({ [image]: { auth, isPresent, pullMs: Infinity } })
    world.secret('default/right', 'me', 'secret')
    const container = { name: 'it', image, imagePullPolicy: 'Always' }
    const pod = kubeletPod({
      metadata: { uid: 'u', namespace: 'default' },
      spec: { containers: [container], imagePullSecrets: [{ name: 'right' }] },
    })
    void world.images.ensure(pod, container, new AbortController().signal)
    await world.simulation.advance(1_000)
    for (const life of ['first', 'second', 'third']) {
      world.runtime.setImage(image, { auth, isPresent: true })
      for (const uid of [`${life} a`, `${life} b`]) {
        const result = await world.ensure(image, { pod: uid })
        assert.equal(result, isPresent ? image : `ErrImagePull: ${refusal}`, uid)
      }
      world.images = world.restarted()
    }
    assert.equal(await world.ensure(image, { secrets: ['right'], pod: 'b' }), image)
  }
})

test('pods share the pull of an image, and parallel pulls are bounded', async () => {
  const world = new World({ a: { pullMs: 1_000 }, b: { pullMs: 1_000 }, c: { pullMs: 1_000 } }, 2)
  const startMs = world.simulation.nowMs
  const ends: string[] = []
  const abort = new AbortController()
  const ensure = async (image: string, uid: string, signal: AbortSignal): Promise<void> => {
    const container = { name: 'it', image, imagePullPolicy: 'Always' }
    const pod = kubeletPod({ metadata: { uid }, spec: { containers: [container] } })
    await world.images.ensure(pod, container, signal)
    ends.push(`${image}${uid} ${Math.round((world.simulation.nowMs - startMs) / 1_000)}`)
  }
  const { signal } = new AbortController()
  const given = ensure('c', '9', abort.signal)
  const all = ['a1', 'b2', 'a3', 'c4'].map(([image = '', uid = '']) => ensure(image, uid, signal))
  await world.simulation.advance(10)
  abort.abort(new Error('enough'))
  await assert.rejects(world.simulation.run(given), /enough/)
  await world.simulation.run(Promise.all(all))
  assert.deepEqual(ends.sort(), ['a1 1', 'a3 1', 'b2 2', 'c4 1'])
  assert.equal(world.pulls, 3)
})

test('a pull is aborted when no pod waits for it', async () => {
  const world = new World({ a: { pullMs: Infinity }, b: { pullMs: 1_000 } }, 1)
  const abort = new AbortController()
  const container = { name: 'it', image: 'a', imagePullPolicy: 'Always' }
  const pulling = world.images.ensure(
    kubeletPod({ metadata: { uid: 'u' }, spec: { containers: [container] } }),
    container,
    abort.signal,
  )
  await world.simulation.advance(1_000)
  abort.abort(new Error('gone'))
  await assert.rejects(world.simulation.run(pulling), /gone/)
  assert.deepEqual(
    world.told.filter(text => text.includes('Failed')),
    [],
    'nothing failed',
  )
  assert.equal(await world.ensure('b'), 'docker.io/library/b:latest')
})

test('unused images are removed when the disk is full', async () => {
  const pause = 'registry.k8s.io/pause:3.10'
  const world = new World({
    [pause]: { isPresent: true, sizeBytes: 30 },
    pinned: { isPresent: true, sizeBytes: 30, isPinned: true },
    old: { isPresent: true, sizeBytes: 30 },
    older: { isPresent: true, sizeBytes: 30 },
  })
  const names = async (): Promise<string[]> => {
    const images = await world.simulation.run(world.images.list())
    return images.map(({ tags }) => tags[0]?.replace(/^.*\//, '').replace(/:.*$/, '') ?? '').sort()
  }
  const collect = async (availableBytes: number): Promise<string> => {
    const told = await world.simulation.run(world.images.collect({ capacityBytes: 1_000, availableBytes }))
    return told ? `${told.reason}: ${told.message}` : ''
  }
  const told = await collect(0)
  assert.equal((await names()).length, 4, 'none is old enough')
  assert.equal(
    told,
    "FreeDiskSpaceFailed: Insufficient free disk space on the node's image filesystem (100% of 1000 B used). " +
      'Failed to free sufficient space by deleting unused images (freed 0 bytes). ' +
      'Investigate disk usage, as it could be used by active images, logs, volumes, or other data.',
  )
  await world.simulation.advance(120_000)
  await collect(500)
  assert.equal((await names()).length, 4, 'there is room')
  assert.deepEqual([await collect(150), await names()], ['', ['pause', 'pinned']])
})
