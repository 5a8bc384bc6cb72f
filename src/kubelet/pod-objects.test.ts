import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { isApiError } from '#/api/errors.ts'
import type { PodSpec } from '#/api/generated/core/v1.ts'
import { configMaps, pods, secrets } from '#/api/generated/core/v1-resources.ts'
import { startTestControlPlane, type TestControlPlane } from '#/controllers/test-control-plane.ts'
import { isNamespaced, type KubeletPod } from './kubelet-pod.ts'
import { PodObjects } from './pod-objects.ts'
import { referencesOf } from './pod-objects/references.ts'

const container = { name: 'main', image: 'image' }

interface Fixture {
  readonly plane: TestControlPlane
  readonly objects: PodObjects
  /** Notified pods, one line per notification. */
  readonly told: string[]
  readonly createPod: (name: string, spec: Partial<PodSpec>) => Promise<KubeletPod>
}

async function start(t: TestContext): Promise<Fixture> {
  const plane = await startTestControlPlane(t, [])
  const { platform } = plane
  const objects = new PodObjects({ platform, client: plane.clientAs('system:node:n1', ['system:nodes']) })
  const names = new Map<string, string>()
  const told: string[] = []
  objects.onChange(uids => void told.push(uids.map(uid => names.get(uid)).join(' ')))
  const stopping = new AbortController()
  const running = objects.run(stopping.signal)
  t.after(async () => {
    stopping.abort()
    await plane.run(running)
  })
  const createPod: Fixture['createPod'] = async (name, spec) => {
    const pod = await plane.create(pods, {
      metadata: { namespace: 'default', name },
      spec: { containers: [container], nodeName: 'n1', ...spec },
    })
    assert.ok(isNamespaced(pod))
    names.set(pod.metadata.uid, name)
    return pod
  }
  return { plane, objects, told, createPod }
}

const configVolume = (name: string): Partial<PodSpec> => ({ volumes: [{ name: 'v', configMap: { name } }] })
const settings = (name: string, value: string, immutable = false) => ({
  metadata: { namespace: 'default', name },
  data: { key: value },
  ...(immutable && { immutable }),
})
const secretOf = (name: string) => ({ metadata: { namespace: 'default', name }, data: { key: 'dmFsdWU=' } })

test('pods are synced for changes of the objects they reference only', async t => {
  const { plane, objects, told, createPod } = await start(t)
  await plane.create(configMaps, settings('used', '1'))
  await plane.create(configMaps, settings('other', '1'))
  const [a, b] = [await createPod('a', configVolume('used')), await createPod('b', configVolume('used'))]
  for (const pod of [a, b]) objects.registerPod(pod)
  assert.equal((await plane.run(objects.configMap('default', 'used')))?.data?.['key'], '1')
  await plane.settle()
  assert.deepEqual(told, [], 'what was given out already is no change')
  await plane.change(configMaps, 'default/used', object => ({ ...object, data: { key: '2' } }))
  await plane.change(configMaps, 'default/other', object => ({ ...object, data: { key: '2' } }))
  assert.deepEqual(told, ['a b'])
  assert.equal((await plane.run(objects.configMap('default', 'used')))?.data?.['key'], '2')
  objects.unregisterPod(a.metadata.uid)
  await plane.change(configMaps, 'default/used', object => ({ ...object, data: { key: '3' } }))
  objects.unregisterPod(b.metadata.uid)
  await plane.change(configMaps, 'default/used', object => ({ ...object, data: { key: '4' } }))
  assert.deepEqual(told, ['a b', 'b'])
})

test('a pod is synced when a referenced object is created or deleted', async t => {
  const { plane, objects, told, createPod } = await start(t)
  const pod = await createPod('a', { volumes: [{ name: 'v', secret: { secretName: 'late' } }] })
  objects.registerPod(pod)
  assert.equal(await plane.run(objects.secret('default', 'late')), undefined)
  await plane.settle()
  await plane.create(secrets, secretOf('late'))
  assert.deepEqual(told, ['a'])
  assert.equal((await plane.run(objects.secret('default', 'late')))?.data?.['key'], 'dmFsdWU=')
  await plane.run(plane.client.delete(secrets, { namespace: 'default', name: 'late' }))
  await plane.settle()
  assert.deepEqual(told, ['a', 'a'])
  assert.equal(await plane.run(objects.secret('default', 'late')), undefined)
})

test('immutable objects are not watched', async t => {
  const { plane, objects, told, createPod } = await start(t)
  await plane.create(configMaps, settings('fixed', '1', true))
  const pod = await createPod('a', configVolume('fixed'))
  await plane.run(objects.configMap('default', 'fixed'))
  objects.registerPod(pod)
  await plane.settle()
  told.length = 0
  await plane.run(plane.client.delete(configMaps, { namespace: 'default', name: 'fixed' }))
  await plane.settle()
  assert.deepEqual(told, [])
  assert.equal((await plane.run(objects.configMap('default', 'fixed')))?.data?.['key'], '1')
})

test('the kubelet reads only objects referenced by its own pods', async t => {
  const { plane, objects, createPod } = await start(t)
  for (const name of ['own', 'foreign', 'unused']) await plane.create(secrets, secretOf(name))
  const secretVolume = (secretName: string): Partial<PodSpec> => ({
    volumes: [{ name: 'v', secret: { secretName } }],
  })
  const own = await createPod('own', secretVolume('own'))
  const foreign = await createPod('foreign', { ...secretVolume('foreign'), nodeName: 'n2' })
  for (const pod of [own, foreign]) objects.registerPod(pod)
  assert.ok(await plane.run(objects.secret('default', 'own')))
  await plane.advance(60_000)
  for (const name of ['foreign', 'unused']) {
    await assert.rejects(plane.run(objects.secret('default', name)), error => isApiError(error, 'Forbidden'))
  }
})

test('a pod that references another object is synced for that one', async t => {
  const { plane, objects, told, createPod } = await start(t)
  for (const name of ['one', 'two']) await plane.create(configMaps, settings(name, '1'))
  const pod = await createPod('a', configVolume('one'))
  objects.registerPod(pod)
  await plane.settle()
  const other = { ...pod, spec: { ...pod.spec, containers: [container], ...configVolume('two') } }
  await plane.run(plane.client.delete(pods, { namespace: 'default', name: 'a' }, { gracePeriodSeconds: 0 }))
  await createPod('again', configVolume('two'))
  objects.registerPod(other)
  await plane.settle()
  told.length = 0
  await plane.change(configMaps, 'default/one', object => ({ ...object, data: { key: '2' } }))
  assert.deepEqual(told, [])
  await plane.change(configMaps, 'default/two', object => ({ ...object, data: { key: '2' } }))
  assert.deepEqual(told, ['a'])
})

const references: readonly (readonly [title: string, spec: Partial<PodSpec>, expected: string])[] = [
  ['nothing', {}, ''],
  ['a volume', configVolume('a'), 'config a'],
  ['a volume without a name', { volumes: [{ name: 'v', configMap: {} }] }, ''],
  ['a secret', { volumes: [{ name: 'v', secret: { secretName: 'a' } }] }, 'secret a'],
  ['a pull secret', { imagePullSecrets: [{ name: 'a' }, {}] }, 'secret a'],
  [
    'projected sources',
    {
      volumes: [
        { name: 'v', projected: { sources: [{ configMap: { name: 'a' } }, { secret: { name: 'b' } }, {}] } },
      ],
    },
    'config a, secret b',
  ],
  [
    'variables of all containers, each once',
    {
      containers: [
        { ...container, env: [{ name: 'x', valueFrom: { secretKeyRef: { name: 'a', key: 'k' } } }] },
      ],
      initContainers: [
        { ...container, envFrom: [{ configMapRef: { name: 'b' } }, { secretRef: { name: 'a' } }] },
      ],
      ephemeralContainers: [
        { ...container, env: [{ name: 'y', valueFrom: { configMapKeyRef: { name: 'c', key: 'k' } } }] },
      ],
    },
    'config b, config c, secret a',
  ],
]

test('references of a pod are all config maps and secrets in its spec', () => {
  for (const [title, spec, expected] of references) {
    const found = referencesOf({ metadata: {}, spec: { containers: [container], ...spec } })
    const shown = [
      ...[...found.configMaps].map(name => `config ${name}`),
      ...[...found.secrets].map(name => `secret ${name}`),
    ]
    assert.equal(shown.sort().join(', '), expected, title)
  }
})
