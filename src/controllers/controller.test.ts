import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { apiError } from '#/api/errors.ts'
import { replicaSets } from '#/api/generated/apps/v1-resources.ts'
import type { ConfigMap } from '#/api/generated/core/v1.ts'
import { configMaps, pods } from '#/api/generated/core/v1-resources.ts'
import type { Stored } from '#/api/metadata.ts'
import type { Client } from '#/client/client.ts'
import { Informers } from '#/client/informers.ts'
import type { ReconcileResult } from '#/client/workqueue.ts'
import type { Platform } from '#/platform/platform.ts'
import { WriteBarrier } from './controller/write-barrier.ts'
import { recordingClient } from './controller/recording-client.ts'
import { ControllerLoop, type Controller, type Reconcile } from './controller.ts'
import { replicaSetController } from './replica-set.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'

/** Delays all watch events by `lateMs`. */
function lateClient(client: Client, { clock }: Platform, lateMs: number): Client {
  async function* late<E>(events: AsyncIterable<E>, signal?: AbortSignal): AsyncGenerator<E> {
    for await (const event of events) {
      await clock.sleep(lateMs, signal)
      yield event
    }
  }
  return {
    ...recordingClient(client, new WriteBarrier(), ''),
    watch: (resource, options) => late(client.watch(resource, options), options?.signal),
    watchBatches: (resource, options) => late(client.watchBatches(resource, options), options?.signal),
  }
}

interface Running {
  readonly plane: TestControlPlane
  readonly loop: ControllerLoop
  readonly stop: () => Promise<void>
}

/** Runs a controller on a test API server, with informers that lag by `lateMs`. */
async function runLoop(t: TestContext, controller: Controller, lateMs = 0): Promise<Running> {
  const plane = await startTestControlPlane(t, [])
  const { client, platform } = plane
  const informers = new Informers({
    platform,
    client: lateMs > 0 ? lateClient(client, platform, lateMs) : client,
  })
  const loop = new ControllerLoop({ controller, platform, client, informers })
  const stopping = new AbortController()
  const running = Promise.all([informers.run(stopping.signal), loop.run(stopping.signal)])
  const stop = async (): Promise<void> => {
    stopping.abort()
    await plane.run(running)
  }
  t.after(stop)
  await plane.advance(10_000)
  return { plane, loop, stop }
}

/** A controller of ConfigMaps. */
function controllerOf(
  reconcile: (get: (key: string) => Stored<ConfigMap> | undefined) => Reconcile,
): Controller {
  return {
    name: 'test-controller',
    account: 'test-controller',
    setUp: ({ informer, enqueue }) => {
      const all = informer(configMaps)
      all.addEventHandler(key => enqueue(key))
      return reconcile(key => all.get(key))
    },
  }
}

const map = { metadata: { namespace: 'default', name: 'map' }, data: { a: '1' } }

test('a lagging informer causes no duplicate creation or deletion', async t => {
  const { plane } = await runLoop(t, replicaSetController, 700)
  const made = new Set<string>()
  const removed = new Set<string>()
  const watching = new AbortController()
  const watch = (async () => {
    for await (const { type, object } of plane.client.watch(pods, { signal: watching.signal })) {
      if (type === 'ADDED') made.add(object.metadata.uid)
      if (type === 'DELETED') removed.add(object.metadata.uid)
    }
  })().catch(() => undefined)
  const labels = { app: 'web' }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'web' }] } }
  await plane.create(replicaSets, {
    metadata: { namespace: 'default', name: 'web' },
    spec: { replicas: 5, selector: { matchLabels: labels }, template },
  })
  const scale = async (replicas: number): Promise<void> => {
    await plane.change(replicaSets, 'default/web', set => ({ ...set, spec: { ...set.spec!, replicas } }))
    // Triggers reconciles while the informers do not show the controller's last writes.
    for (let time = 0; time < 20; time++) {
      await plane.change(replicaSets, 'default/web', set => ({
        ...set,
        metadata: { ...set.metadata, annotations: { time: String(time) } },
      }))
      await plane.advance(100)
    }
    await plane.advance(30_000)
  }
  await scale(5)
  assert.deepEqual([made.size, removed.size], [5, 0])
  await scale(2)
  assert.deepEqual([made.size, removed.size], [5, 3])
  await scale(4)
  assert.deepEqual([made.size, removed.size], [7, 3])
  watching.abort()
  await plane.run(watch)
})

test('a reconcile with a conflict is repeated with the newer object', async t => {
  let passes = 0
  const controller = controllerOf(get => async ({ key, client }) => {
    const seen = get(key)
    if (seen === undefined || seen.data?.['sum'] === seen.data?.['a']) return
    passes++
    await client.update(configMaps, { ...seen, data: { ...seen.data, sum: seen.data?.['a'] ?? '' } })
  })
  const { plane } = await runLoop(t, controller, 50)
  await plane.run(plane.client.create(configMaps, map))
  const second = { ...map, data: { a: '2' } }
  await plane.run(plane.client.update(configMaps, second))
  await plane.advance(5_000)
  const stored = await plane.run(plane.client.get(configMaps, map.metadata))
  assert.deepEqual(stored.data, { a: '2', sum: '2' })
  assert.ok(passes > 1, `${passes}`)
})

test('a failed key is requeued with backoff, and at once when the object changes', async t => {
  const atMs: number[] = []
  let isBroken = true
  const plain = controllerOf(() => async () => undefined)
  const controller: Controller = {
    ...plain,
    setUp: context => {
      plain.setUp(context)
      return async ({ name }) => {
        if (name !== 'map') return
        atMs.push(context.platform.clock.monotonicMs())
        if (isBroken) throw new Error('broken')
      }
    },
  }
  const { plane } = await runLoop(t, controller)
  await plane.create(configMaps, map)
  await plane.advance(2_000)
  const waits = atMs.slice(1).map((each, index) => Math.round(each - atMs[index]!))
  assert.deepEqual(waits.slice(0, 6), [5, 10, 20, 40, 80, 160])
  const before = atMs.length
  isBroken = false
  await plane.change(configMaps, 'default/map', each => ({ ...each, data: { a: '2' } }))
  assert.ok(atMs.length > before)
  const after = atMs.length
  await plane.advance(600_000)
  assert.ok(atMs.length <= after + 1)
})

test('writes of a reconcile carry its pass, with the revisions of the changes that caused it', async t => {
  const write = async (client: Client): Promise<void> => {
    await client.create(configMaps, { metadata: { namespace: 'kube-system', generateName: 'made-' } })
  }
  let step: (client: Client) => Promise<void | ReconcileResult> = write
  const plain = controllerOf(
    () =>
      async ({ name, client }) =>
        name === 'map' ? step(client) : undefined,
  )
  const { plane, stop } = await runLoop(t, { ...plain, component: 'test-component' })
  const created = await plane.create(configMaps, map)
  // Fails, and is retried for the same cause; then asks to be called again.
  let failures = 2
  step = async client => {
    if (failures-- > 0) throw new Error('broken')
    await write(client)
    return failures > -2 ? { requeueAfterMs: 20_000 } : undefined
  }
  const changed = await plane.change(configMaps, 'default/map', each => ({ ...each, data: { a: '2' } }))
  await plane.advance(60_000)
  step = write
  const deletedMs = plane.platform.clock.now()
  await plane.run(plane.client.delete(configMaps, map.metadata))
  await plane.settle()
  await stop()
  const [first, second] = [created, changed].map(({ metadata }) => Number(metadata.resourceVersion))
  const causes = plane.passes.map(pass => pass.causes)
  assert.deepEqual(causes.slice(0, -1), [[first], [second], [second]])
  const last = plane.passes.at(-1)!
  // The revision of the deletion.
  assert.ok(last.causes.length === 1 && last.causes[0]! > second!, String(last.causes))
  assert.ok(last.queuedMs >= deletedMs && last.startedMs >= last.queuedMs)
  assert.deepEqual([last.component, last.key], ['test-component', 'default/map'])
})

const delays: readonly (readonly [string, number, number])[] = [
  ['a delay that merges changes is time in the queue', 1_000, 1_000],
  ['a key that is due much later is queued from then on', 60_000, 0],
]

for (const [name, afterMs, expectedMs] of delays) {
  test(`pass: ${name}`, async t => {
    const controller: Controller = {
      name: 'test-controller',
      setUp: ({ informer, enqueue }) => {
        informer(configMaps).addEventHandler(key => enqueue(key, afterMs))
        return async ({ key, client }) => {
          if (key !== 'default/map') return
          await client.create(configMaps, { metadata: { namespace: 'kube-system', generateName: 'made-' } })
        }
      },
    }
    const { plane, stop } = await runLoop(t, controller)
    await plane.create(configMaps, map)
    await plane.advance(70_000)
    await stop()
    const [pass] = plane.passes
    assert.equal(Math.round(pass!.startedMs - pass!.queuedMs), expectedMs)
  })
}

test('errors in a terminating namespace are not retried', async t => {
  let passes = 0
  const details = { causes: [{ reason: 'NamespaceTerminating' }] }
  const controller = controllerOf(get => async ({ key }) => {
    if (get(key)?.metadata.name !== 'map') return
    passes++
    throw apiError('Forbidden', 'going', details)
  })
  const { plane } = await runLoop(t, controller)
  await plane.create(configMaps, map)
  await plane.advance(600_000)
  assert.equal(passes, 1)
})

test('a key is requeued after the returned delay, and background tasks end with the loop', async t => {
  let passes = 0
  const background: string[] = []
  const plain = controllerOf(get => async ({ key }) => {
    if (get(key)?.metadata.name !== 'map') return undefined
    return ++passes < 3 ? { requeueAfterMs: 10_000 } : undefined
  })
  const controller: Controller = {
    ...plain,
    setUp: context => {
      context.background(async signal => {
        background.push('begun')
        await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
        background.push('ended')
      })
      context.background(async () => {
        throw new Error('of no use')
      })
      return plain.setUp(context)
    },
  }
  const { plane, loop, stop } = await runLoop(t, controller)
  await plane.create(configMaps, map)
  assert.equal(passes, 1)
  assert.ok(loop.isIdle)
  await plane.advance(9_500)
  assert.equal(passes, 2)
  await plane.advance(60_000)
  assert.equal(passes, 3)
  await stop()
  assert.deepEqual(background, ['begun', 'ended'])
})

test('stopping finishes reconciles in progress and starts none', async t => {
  const done: string[] = []
  let began = 0
  const controller: Controller = {
    ...controllerOf(get => async ({ key, client }) => {
      const seen = get(key)
      if (seen?.metadata.namespace !== 'default') return
      began++
      for (let step = 1; step <= 3; step++) {
        await client.create(configMaps, {
          metadata: { namespace: 'kube-system', name: `${seen.metadata.name}-${step}` },
        })
      }
      done.push(seen.metadata.name)
    }),
    workers: 1,
  }
  const { plane, stop } = await runLoop(t, controller)
  await plane.run(plane.client.create(configMaps, map))
  await plane.run(plane.client.create(configMaps, { metadata: { namespace: 'default', name: 'next' } }))
  while (began === 0) await plane.run(plane.platform.clock.turn())
  await stop()
  assert.equal(done.length, began)
  assert.deepEqual(
    (await plane.list(configMaps, 'kube-system')).filter(each => /-\d$/.test(each.metadata.name)).length,
    began * 3,
  )
})
