import assert from 'node:assert/strict'
import { test } from 'node:test'
import { configMaps } from '#/api/generated/core/v1-resources.ts'
import type { ConfigMap } from '#/api/generated/core/v1.ts'
import { keyOf, type KubernetesObject } from '#/api/metadata.ts'
import { Simulation } from '#/platform/simulated.ts'
import { clientOf, type Client } from './client.ts'
import { anonymous } from '#/kubeconfig/credentials.ts'
import { HttpTransport } from './http.ts'
import { inProcessTransport } from './in-process.ts'
import { Informer, type Change } from './informer.ts'
import { Informers } from './informers.ts'
import { httpOverHandle } from './testdata/http-over-handle.ts'
import {
  faultyTransport,
  requestFaults,
  streamFaults,
  type FaultOptions,
} from '#/simulation/faulty-transport.ts'
import { SmallServer, type SmallServerOptions } from './testdata/small-server.ts'

const collection = '/api/v1/configmaps'

test('an informer converges to the state of the server despite all watch faults', async () => {
  for (let seed = 1; seed <= 12; seed++) {
    const world = new World(seed, { streamsLists: seed % 3 !== 0 })
    const { informer, changes } = world.follow(seed % 2 === 0)
    await world.disturb(0.3)
    await world.calm()
    assert.deepEqual(
      versions(informer.list()),
      versions([...world.server.state(collection).values()]),
      `seed ${seed}`,
    )
    checkChanges(changes, informer, `seed ${seed}`)
    world.stop()
  }
})

test('without relists every change is delivered exactly once', async () => {
  for (let seed = 1; seed <= 8; seed++) {
    const isKept = (fault: string): boolean => fault !== 'gone' && fault !== 'garbage'
    const world = new World(seed, {}, { streamFaults: streamFaults.filter(isKept) })
    const { informer, changes } = world.follow(false)
    await world.simulation.run(informer.waitForSync(world.stopped))
    const listed = world.server.revision
    changes.length = 0
    await world.disturb(0.3)
    await world.calm()
    const told = changes.map(
      ([key, { newObject }]) => `${key} ${newObject?.metadata.resourceVersion ?? 'gone'}`,
    )
    const happened = world.server.history.slice(listed).map(({ type, object }) => {
      return `${keyOf(object)} ${type === 'DELETED' ? 'gone' : object.metadata.resourceVersion}`
    })
    assert.deepEqual(told, happened, `seed ${seed}`)
    world.stop()
  }
})

test('an informer falls back to a paged list when the server does not support watch-list', async () => {
  const world = new World(1, { streamsLists: false })
  for (let index = 0; index < 1_200; index++) world.put(`item-${index}`)
  const { informer } = world.follow(true)
  await world.simulation.run(informer.waitForSync(world.stopped))
  assert.equal(informer.list().length, 1_200)
  const lists = world.server.requests.filter(request => !request.includes('watch='))
  assert.equal(lists.length, 3)
  world.stop()
})

test('all initial objects are delivered before hasSynced; unchanged objects keep their identity', async () => {
  const world = new World(2)
  world.put('a')
  world.put('b')
  const { informer, changes } = world.follow(true)
  assert.equal(informer.hasSynced, false)
  await world.simulation.run(informer.waitForSync(world.stopped))
  assert.equal(informer.hasSynced, true)
  assert.deepEqual(changes.map(([key]) => key).sort(), ['default/a', 'default/b'])
  const before = informer.get('default/a')
  world.server.compact()
  world.put('b', { value: 'new' })
  world.server.compact()
  await world.simulation.advance(30_000)
  assert.equal(informer.get('default/a'), before)
  assert.deepEqual(informer.get('default/b')?.data, { value: 'new' })
  world.stop()
})

test('an object recreated during a disconnect is reported as a deletion and an addition', async () => {
  const world = new World(3)
  world.put('a')
  const { informer, changes } = world.follow(true)
  await world.simulation.run(informer.waitForSync(world.stopped))
  changes.length = 0
  world.behaviour.chance = 1
  world.server.delete(collection, 'default/a')
  world.put('a')
  world.server.compact()
  await world.simulation.advance(10_000)
  await world.calm()
  const uids = changes.map(([, { oldObject, newObject }]) => [
    oldObject?.metadata.uid,
    newObject?.metadata.uid,
  ])
  assert.deepEqual(uids, [
    ['uid-1', undefined],
    [undefined, 'uid-3'],
  ])
  world.stop()
})

test('an idle watch is restarted without losing changes', async () => {
  const world = new World(4, { bookmarkMs: 1e9 }, { streamFaults: ['stall'] })
  const { informer } = world.follow(true)
  await world.simulation.run(informer.waitForSync(world.stopped))
  world.behaviour.chance = 1
  world.put('a')
  await world.simulation.advance(1_000)
  world.behaviour.chance = 0
  world.put('b')
  await world.simulation.advance(200_000)
  assert.deepEqual(informer.list().map(keyOf), ['default/a', 'default/b'])
  world.stop()
})

test('a late event handler gets all objects, a failing one affects no other, a removed one is not called', async () => {
  const world = new World(5)
  world.put('a')
  const { informer } = world.follow(true)
  const told: string[] = []
  informer.addEventHandler(() => {
    throw new Error('broken')
  })
  await world.simulation.run(informer.waitForSync(world.stopped))
  const leave = informer.addEventHandler(key => void told.push(key))
  assert.deepEqual(told, ['default/a'])
  world.put('b')
  await world.simulation.advance(100)
  assert.deepEqual(told, ['default/a', 'default/b'])
  leave()
  world.put('c')
  await world.simulation.advance(100)
  assert.deepEqual(told, ['default/a', 'default/b'])
  world.stop()
})

test('a resync calls the event handler for every object until the informer stops', async () => {
  const world = new World(6)
  world.put('a')
  const { informer } = world.follow(true)
  const seen: Change<ConfigMap>[] = []
  informer.addEventHandler((_key, change) => void seen.push(change), { resyncMs: 60_000 })
  await world.simulation.run(informer.waitForSync(world.stopped))
  await world.simulation.advance(200_000)
  assert.equal(seen.length, 4)
  assert.ok(
    seen.slice(1).every(({ oldObject, newObject }) => oldObject === newObject && newObject !== undefined),
  )
  world.stop()
  await world.simulation.advance(200_000)
  assert.equal(seen.length, 4)
})

test('indexes follow changes of the objects', async () => {
  const world = new World(7)
  world.put('a', { colour: 'red' })
  world.put('b', { colour: 'red' })
  const { informer } = world.follow(true)
  const byColour = informer.index('colour', ({ data = {} }) => (data['colour'] ? [data['colour']] : []))
  await world.simulation.run(informer.waitForSync(world.stopped))
  assert.deepEqual(byColour.keys('red'), ['default/a', 'default/b'])
  world.put('a', { colour: 'blue' })
  world.server.delete(collection, 'default/b')
  await world.simulation.advance(100)
  assert.deepEqual(
    [byColour.values(), byColour.keys('red'), byColour.keys('blue')],
    [['blue'], [], ['default/a']],
  )
  assert.equal(
    informer.index('colour', () => ['other']),
    byColour,
  )
  assert.deepEqual(informer.inNamespace('default').map(keyOf), ['default/a'])
  assert.deepEqual(informer.inNamespace('__proto__'), [])
  world.stop()
})

test('equal selections share one informer and one watch', async () => {
  const world = new World(8)
  const informers = new Informers({ client: world.client(true), platform: world.host })
  const first = informers.of(configMaps, { namespace: 'default' })
  assert.equal(informers.of(configMaps, { namespace: 'default' }), first)
  const running = informers.run(world.stopped)
  const later = informers.of(configMaps)
  assert.notEqual(later, first)
  await world.simulation.run(informers.waitForSync(world.stopped))
  assert.equal(world.server.requests.length, 2)
  world.stop()
  await world.simulation.run(running)
})

test('handlers see the revision of the change, also that of a deletion, and none on a resync', async () => {
  const world = new World(9)
  const informers = new Informers({ client: world.client(true), platform: world.host })
  const { handled } = informers
  const informer = informers.of(configMaps)
  const told: string[] = []
  const tell = (key: string): void => void told.push(`${key} ${handled.revision}`)
  informer.addEventHandler(tell, { resyncMs: 1_000_000 })
  const running = informers.run(world.stopped)
  world.put('a')
  await world.simulation.run(informer.waitForSync(world.stopped))
  world.put('a')
  world.put('b')
  world.server.delete(collection, 'default/a')
  await world.simulation.advance(100)
  assert.deepEqual(told, ['default/a 1', 'default/a 2', 'default/b 3', 'default/a 4'])
  informer.addEventHandler(key => tell(`late ${key}`))
  await world.simulation.advance(1_200_000)
  assert.deepEqual(told.slice(4), ['late default/b 3', 'default/b undefined'])
  assert.equal(handled.revision, undefined)
  world.stop()
  await world.simulation.run(running)
})

type Told = [string, Change<ConfigMap>]

/** A server, a faulty transport and a client, in virtual time. */
class World {
  readonly simulation: Simulation
  readonly host: ReturnType<Simulation['host']>
  readonly server: SmallServer
  readonly behaviour: FaultOptions
  readonly #byteFaults: { readonly random: Simulation['random']; chance: number }
  readonly #controller = new AbortController()

  constructor(seed: number, options: Partial<SmallServerOptions> = {}, faults: Partial<FaultOptions> = {}) {
    this.simulation = new Simulation({ seed })
    const { clock, random } = this.simulation
    this.host = this.simulation.host('client')
    this.server = new SmallServer({ clock, ...options })
    this.behaviour = { clock, random, requestFaults, streamFaults, chance: 0, ...faults }
    this.#byteFaults = { random, chance: 0 }
  }

  get stopped(): AbortSignal {
    return this.#controller.signal
  }

  stop(): void {
    this.#controller.abort()
  }

  client(isInProcess: boolean): Client {
    const handle = faultyTransport(this.server.handle, this.behaviour)
    const transport = isInProcess
      ? inProcessTransport({ handle, user: { username: 'test', groups: [] } })
      : new HttpTransport({
          platform: this.host,
          connect: httpOverHandle(handle, this.#byteFaults),
          server: { url: 'https://server' },
          credentials: anonymous,
        })
    return clientOf({ platform: this.host, transport, userAgent: 'test' })
  }

  follow(isInProcess: boolean): { informer: Informer<ConfigMap>; changes: Told[] } {
    const informer = new Informer({
      client: this.client(isInProcess),
      platform: this.host,
      resource: configMaps,
    })
    const changes: Told[] = []
    informer.addEventHandler((key, change) => void changes.push([key, change]))
    informer.run(this.stopped).catch(error => assert.fail(String(error)))
    return { informer, changes }
  }

  put(name: string, data: Record<string, string> = {}): void {
    const metadata = { namespace: 'default', name }
    const object: ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data }
    this.server.write(collection, object)
  }

  /** Changes objects for ten minutes while the transport is faulty. */
  async disturb(chance: number): Promise<void> {
    const { clock, random } = this.simulation
    this.behaviour.chance = chance
    this.#byteFaults.chance = chance / 50
    const isForgetful = this.behaviour.streamFaults.includes('gone')
    const work = async (): Promise<void> => {
      for (let count = 0; count < 120; count++) {
        await clock.sleep(random.integer('pause', 10_000))
        const name = `item-${random.integer('which', 12)}`
        if (random.fraction('what') < 0.3) this.server.delete(collection, `default/${name}`)
        else this.put(name, { count: String(count) })
        if (isForgetful && random.fraction('forget') < 0.1) this.server.compact()
      }
    }
    await this.simulation.run(work())
  }

  async calm(): Promise<void> {
    this.behaviour.chance = 0
    this.#byteFaults.chance = 0
    await this.simulation.advance(400_000)
  }
}

function versions(objects: readonly KubernetesObject[]): string[] {
  return objects.map(object => `${keyOf(object)} ${object.metadata.resourceVersion}`).sort()
}

/**
 * Each change starts from the last state of its object, resourceVersions only grow, and the final state is
 * the informer's.
 */
function checkChanges(changes: readonly Told[], informer: Informer<ConfigMap>, label: string): void {
  const shadow = new Map<string, ConfigMap>()
  const newest = new Map<string, number>()
  for (const [key, { oldObject, newObject }] of changes) {
    assert.equal(oldObject, shadow.get(key), `${label}: ${key}`)
    if (newObject === undefined) shadow.delete(key)
    else shadow.set(key, newObject)
    const version = Number(newObject?.metadata.resourceVersion ?? newest.get(key))
    assert.ok(
      newObject === undefined || version > (newest.get(key) ?? 0),
      `${label}: ${key} is told ${version} again`,
    )
    newest.set(key, version)
  }
  assert.deepEqual(versions([...shadow.values()]), versions(informer.list()), label)
}
