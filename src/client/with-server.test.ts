/** The client, informers and leader election against the real API server: in process, and over bytes. */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { isApiError } from '#/api/errors.ts'
import { deployments } from '#/api/generated/apps/v1-resources.ts'
import type { Scale } from '#/api/generated/autoscaling/v1.ts'
import { configMaps, events, namespaces, pods } from '#/api/generated/core/v1-resources.ts'
import type { ConfigMap, Pod } from '#/api/generated/core/v1.ts'
import { keyOf, type KubernetesObject } from '#/api/metadata.ts'
import { ApiServer } from '#/apiserver/api-server.ts'
import { Simulation } from '#/platform/simulated.ts'
import { MemoryStore } from '#/store/memory.ts'
import { clientOf, type Client } from './client.ts'
import { anonymous } from '#/kubeconfig/credentials.ts'
import { EventRecorder } from './event-recorder.ts'
import { HttpTransport } from './http.ts'
import { inProcessTransport } from './in-process.ts'
import { Informer } from './informer.ts'
import { Informers } from './informers.ts'
import { LeaderElector } from './leader-election.ts'
import { httpOverHandle } from './testdata/http-over-handle.ts'
import {
  faultyTransport,
  requestFaults,
  streamFaults,
  type FaultOptions,
} from '#/simulation/faulty-transport.ts'

const web = { namespace: 'default', name: 'web' }

test('every verb works in process and over HTTP', async t => {
  for (const isInProcess of [true, false]) {
    const { client, run } = await start(t, { seed: 1, isInProcess })
    const created = await run(client.create(configMaps, { metadata: web, data: { a: '1' } }))
    assert.equal(created.kind, 'ConfigMap')
    assert.deepEqual(await run(client.get(configMaps, web)), created)
    const updated = await run(client.update(configMaps, { ...created, data: { a: '2' } }))
    await assert.rejects(run(client.update(configMaps, created)), error => isApiError(error, 'Conflict'))
    await assert.rejects(run(client.create(configMaps, created)), error => isApiError(error, 'AlreadyExists'))
    assert.notEqual(updated.metadata.resourceVersion, created.metadata.resourceVersion)
    const merged = await run(client.patch(configMaps, web, { type: 'merge', patch: { data: { b: '3' } } }))
    assert.deepEqual(merged.data, { a: '2', b: '3' })
    const operation = { op: 'remove', path: '/data/b' } as const
    const removed = await run(client.patch(configMaps, web, { type: 'json', patch: [operation] }))
    assert.deepEqual(removed.data, { a: '2' })
    const applied = { metadata: web, data: { a: '4' } }
    await assert.rejects(run(client.apply(configMaps, applied, { fieldManager: 'me' })), error => {
      return isApiError(error, 'Conflict')
    })
    const forced = await run(client.apply(configMaps, applied, { fieldManager: 'me', force: true }))
    assert.deepEqual(forced.data, { a: '4' })
    const dry = await run(client.update(configMaps, { ...forced, data: {} }, { dryRun: true }))
    assert.equal(dry.data, undefined)
    const { items } = await run(
      client.list(configMaps, { namespace: 'default', fieldSelector: 'metadata.name=web' }),
    )
    assert.deepEqual(items, [forced])
    assert.equal(
      await run(client.delete(configMaps, web, { preconditions: { uid: created.metadata.uid } })),
      undefined,
    )
    assert.equal(await run(client.find(configMaps, web)), undefined)
  }
})

test('an object is equal in process and over HTTP', async t => {
  for (const isInProcess of [true, false]) {
    const { client, run } = await start(t, { seed: 1, isInProcess })
    const vague = {
      metadata: { ...web, labels: {}, finalizers: [] },
      immutable: undefined,
      data: {},
      other: 1,
    }
    const { metadata, ...fields } = await run(client.create(configMaps, vague as ConfigMap))
    assert.deepEqual([metadata.labels, metadata.finalizers], [undefined, undefined])
    assert.deepEqual(Object.keys(fields).sort(), ['apiVersion', 'kind'])
    const wrong = { metadata: { ...web, name: 'wrong' }, data: { a: 1 } } as unknown as ConfigMap
    await assert.rejects(run(client.create(configMaps, wrong)), error => isApiError(error, 'BadRequest'))
  }
})

test('status, subresources and collections work in process and over HTTP', async t => {
  const { client, run } = await start(t, { seed: 2, isInProcess: true })
  const made = await run(client.create(pods, podOf('web')))
  const bound = { metadata: web, target: { kind: 'Node', name: 'n1' } }
  await run(client.createSubresource(pods, { ...web, subresource: 'binding' }, bound))
  const pod = await run(client.get(pods, web))
  assert.equal(pod.spec?.nodeName, 'n1')
  const running = await run(client.updateStatus(pods, { ...pod, status: { phase: 'Running' } }))
  assert.equal(running.status?.phase, 'Running')
  const dying = await run(client.delete(pods, web))
  assert.equal(dying?.metadata.uid, made.metadata.uid)
  assert.ok(dying?.metadata.deletionTimestamp)
  await run(client.delete(pods, web, { gracePeriodSeconds: 0 }))
  const labels = { app: 'web' }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'nginx' }] } }
  await run(
    client.create(deployments, { metadata: web, spec: { selector: { matchLabels: labels }, template } }),
  )
  const at = { ...web, subresource: 'scale' }
  const scale = await run(client.getSubresource<Scale>(deployments, at))
  const scaled = await run(
    client.updateSubresource<Scale>(deployments, at, { ...scale, spec: { replicas: 7 } }),
  )
  assert.equal(scaled.spec?.replicas, 7)
  for (const name of ['a', 'b', 'c']) await run(client.create(configMaps, { metadata: { ...web, name } }))
  await run(client.deleteCollection(configMaps, { namespace: 'default' }))
  assert.equal((await run(client.listAll(configMaps, { namespace: 'default' }))).items.length, 0)
})

test('server, watch and informer share one object in process', async t => {
  const { client, run, simulation, stop } = await start(t, { seed: 3, isInProcess: true })
  const informer = new Informer({ client, platform: simulation.host('client'), resource: namespaces })
  informer.run(stop).catch(error => assert.fail(String(error)))
  await run(informer.waitForSync(stop))
  const made = await run(client.create(namespaces, { metadata: { name: 'new' } }))
  await simulation.advance(100)
  assert.equal(informer.get('new'), await run(client.get(namespaces, { name: 'new' })))
  assert.deepEqual(informer.get('new'), made)
})

test('metadata is listed and watched without the rest of the objects', async t => {
  for (const isInProcess of [true, false]) {
    const { client, run, simulation, stop } = await start(t, { seed: 4, isInProcess })
    await run(client.create(configMaps, { metadata: web, data: { a: '1' } }))
    const { items } = await run(client.listAll(configMaps, { namespace: 'default', metadataOnly: true }))
    const shape = ({ kind, metadata, data }: KubernetesObject & Pick<ConfigMap, 'data'>): unknown => [
      kind,
      metadata.name,
      data,
    ]
    assert.deepEqual(items.map(shape), [['ConfigMap', 'web', undefined]])
    const informers = new Informers({ client, platform: simulation.host('client') })
    informers.run(stop).catch(error => assert.fail(String(error)))
    const informer = informers.ofMetadata(configMaps)
    assert.notEqual(informers.of(configMaps), informer)
    assert.equal(informers.ofMetadata(configMaps), informers.of(configMaps))
    await run(informer.waitForSync(stop))
    await run(client.create(configMaps, { metadata: { ...web, name: 'later' }, data: { a: '1' } }))
    await simulation.advance(100)
    const seen = ['web', 'later'].map(name => shape(informer.get(`default/${name}`)!))
    assert.deepEqual(seen, [
      ['ConfigMap', 'web', undefined],
      ['ConfigMap', 'later', undefined],
    ])
  }
})

test('informers converge to the state of the API server under faults', async t => {
  for (let seed = 1; seed <= 4; seed++) {
    const world = await start(t, { seed, isInProcess: seed % 2 === 0 })
    const { client, run, simulation, behaviour, stop } = world
    const informer = new Informer({ client, platform: simulation.host('client'), resource: configMaps })
    informer.run(stop).catch(error => assert.fail(String(error)))
    behaviour.chance = 0.3
    const { clock, random } = simulation
    await run(
      (async () => {
        for (let count = 0; count < 40; count++) {
          await clock.sleep(random.integer('pause', 15_000))
          const at = { namespace: 'default', name: `item-${random.integer('which', 6)}` }
          const isGone = await world.writer.delete(configMaps, at).then(
            () => true,
            () => false,
          )
          if (!isGone || random.fraction('again') < 0.6) {
            await world.writer.create(configMaps, { metadata: at, data: { count: String(count) } })
          }
        }
      })(),
    )
    behaviour.chance = 0
    await simulation.advance(400_000)
    const { items } = await run(world.writer.listAll(configMaps))
    assert.deepEqual(versions(informer.list()), versions(items), `seed ${seed}`)
  }
})

test('a leader is elected and records an event', async t => {
  const { client, run, simulation, stop } = await start(t, { seed: 5, isInProcess: true })
  const platform = simulation.host('client')
  const recorder = new EventRecorder({ client, platform, component: 'test' })
  recorder.run(stop).catch(error => assert.fail(String(error)))
  const led = Promise.withResolvers<void>()
  const onStartedLeading = async (signal: AbortSignal): Promise<void> => {
    led.resolve()
    await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
  }
  const lease = { namespace: 'kube-system', name: 'test' }
  const election = new LeaderElector({ client, platform, lease, identity: 'me', onStartedLeading, recorder })
  election.run(stop).catch(error => assert.fail(String(error)))
  await run(led.promise)
  await simulation.advance(30_000)
  assert.ok(election.isLeader)
  const { items } = await run(client.list(events, { namespace: 'kube-system' }))
  assert.deepEqual(
    items.map(({ reason, message }) => [reason, message]),
    [['LeaderElection', 'me became leader']],
  )
})

interface World {
  readonly simulation: Simulation
  /** Over the faulty transport. */
  readonly client: Client
  /** Over a reliable transport. */
  readonly writer: Client
  readonly behaviour: FaultOptions
  readonly stop: AbortSignal
  readonly run: <T>(promise: Promise<T>) => Promise<T>
}

async function start(
  t: TestContext,
  options: { readonly seed: number; readonly isInProcess: boolean },
): Promise<World> {
  const simulation = new Simulation({ seed: options.seed })
  const platform = simulation.host('server')
  const run = <T>(promise: Promise<T>): Promise<T> => simulation.run(promise)
  const store = await run(MemoryStore.open({ platform }))
  const server = await run(ApiServer.start({ platform, store, build: { version: '0.0.0' } }))
  const controller = new AbortController()
  t.after(async () => {
    controller.abort()
    await run(server.stop())
  })
  const { clock, random } = simulation
  const behaviour: FaultOptions = { clock, random, requestFaults, streamFaults, chance: 0 }
  const user = { username: 'test', groups: ['system:masters'] }
  const handle = faultyTransport(server.handle, behaviour)
  const transport = options.isInProcess
    ? inProcessTransport({ handle, user })
    : new HttpTransport({
        platform: simulation.host('client'),
        connect: httpOverHandle(handle, { random, chance: 0 }),
        server: { url: 'https://server' },
        credentials: anonymous,
      })
  const clientOptions = { platform: simulation.host('client'), userAgent: 'test' }
  return {
    simulation,
    client: clientOf({ ...clientOptions, transport }),
    writer: clientOf({ ...clientOptions, transport: inProcessTransport({ handle: server.handle, user }) }),
    behaviour,
    stop: controller.signal,
    run,
  }
}

function podOf(name: string): Pod {
  return { metadata: { namespace: 'default', name }, spec: { containers: [{ name, image: 'nginx' }] } }
}

function versions(objects: readonly (KubernetesObject & Pick<ConfigMap, 'data'>)[]): string[] {
  return objects
    .map(object => {
      return `${keyOf(object)} ${object.metadata.resourceVersion} ${object.data?.['count']}`
    })
    .sort()
}
