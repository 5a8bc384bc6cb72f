import assert from 'node:assert/strict'
import { test } from 'node:test'
import { forbidden } from '#/api/errors.ts'
import { events } from '#/api/generated/core/v1-resources.ts'
import type { Event } from '#/api/generated/core/v1.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { ApiRequest, ApiResponse } from '#/api/transport.ts'
import { Simulation } from '#/platform/simulated.ts'
import { clientOf } from './client.ts'
import { EventRecorder } from './event-recorder.ts'
import { inProcessTransport } from './in-process.ts'
import { faultyTransport, type FaultOptions, valueResponse } from '#/simulation/faulty-transport.ts'
import { SmallServer } from './testdata/small-server.ts'

const pod: KubernetesObject = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'default', name: 'web', uid: 'u1', resourceVersion: '7' },
}

test('an Event has the involved object, the source, the message and timestamps', async () => {
  const world = new World()
  world.recorder.record(pod, {
    type: 'Warning',
    reason: 'Failed',
    message: 'no image',
    fieldPath: 'spec.containers{web}',
  })
  const [event] = await world.events()
  assert.match(event?.metadata.name ?? '', /^web\.[0-9a-f]{16}$/)
  assert.deepEqual(event?.involvedObject, {
    apiVersion: 'v1',
    kind: 'Pod',
    namespace: 'default',
    name: 'web',
    uid: 'u1',
    resourceVersion: '7',
    fieldPath: 'spec.containers{web}',
  })
  const { metadata: _metadata, involvedObject: _about, lastTimestamp: _last, ...rest } = event
  assert.deepEqual(rest, {
    type: 'Warning',
    reason: 'Failed',
    message: 'no image',
    count: 1,
    firstTimestamp: '2026-01-01T00:00:00Z',
    source: { component: 'kubelet', host: 'n1' },
    reportingComponent: 'kubelet',
    reportingInstance: 'n1',
    apiVersion: 'v1',
    kind: 'Event',
  })
})

test('Events of cluster-scoped objects are in namespace default; long names are replaced', async () => {
  const world = new World()
  world.recorder.record(
    { kind: 'Node', metadata: { name: 'n1' } },
    {
      type: 'Normal',
      reason: 'Up',
      message: 'up',
    },
  )
  world.recorder.record(
    { kind: 'Node', metadata: { name: 'n'.repeat(250) } },
    {
      type: 'Normal',
      reason: 'Up',
      message: 'up',
    },
  )
  const written = await world.events()
  assert.deepEqual(
    written.map(({ metadata }) => metadata.namespace),
    ['default', 'default'],
  )
  assert.ok(written.every(({ metadata }) => metadata.name!.length <= 253))
})

test('a repeated event increases its count', async () => {
  const world = new World()
  for (let count = 0; count < 3; count++) {
    world.tell('pulling')
    await world.simulation.advance(10_000)
  }
  world.tell('pulled')
  const [first, second, ...others] = await world.events()
  assert.deepEqual(
    [first?.message, first?.count, second?.message, second?.count],
    ['pulling', 3, 'pulled', 1],
  )
  assert.deepEqual(
    [first?.firstTimestamp, first?.lastTimestamp],
    ['2026-01-01T00:00:00Z', '2026-01-01T00:00:20Z'],
  )
  assert.equal(others.length, 0)
})

test('ten similar messages within ten minutes are aggregated into one event', async () => {
  const world = new World()
  for (let count = 1; count <= 15; count++) world.tell(`attempt ${count}`)
  const written = await world.events()
  assert.equal(written.length, 10)
  const combined = written.at(-1)
  assert.deepEqual([combined?.message, combined?.count], ['(combined from similar events): attempt 15', 6])
  world.tell('attempt 3')
  assert.equal((await world.events())[2]?.count, 2)
  await world.simulation.advance(601_000)
  world.tell('attempt 16')
  assert.equal((await world.events()).length, 11)
})

test('the spam filter allows 25 events per object at once, then one in five minutes', async () => {
  const world = new World()
  for (let count = 0; count < 40; count++) world.tell('again')
  const [event] = await world.events()
  assert.equal(event?.count, 25)
  world.recorder.record(
    { ...pod, metadata: { ...pod.metadata, name: 'other' } },
    {
      type: 'Normal',
      reason: 'A',
      message: 'b',
    },
  )
  assert.equal((await world.events()).length, 2)
  await world.simulation.advance(301_000)
  for (let count = 0; count < 5; count++) world.tell('again')
  // Dropped events are counted nevertheless.
  assert.equal((await world.events())[0]?.count, 41)
})

test('an event that has expired is created again', async () => {
  const world = new World()
  world.tell('again')
  const [event] = await world.events()
  world.server.delete('/api/v1/events', `default/${event?.metadata.name}`)
  world.tell('again')
  assert.deepEqual(
    (await world.events()).map(({ count }) => count),
    [2],
  )
})

test('recording never blocks: events are queued up to a limit while the server is unavailable', async () => {
  const world = new World({ requestFaults: ['refuse'] })
  world.behaviour.chance = 1
  for (let count = 0; count < 1_500; count++) {
    world.recorder.record(
      { ...pod, metadata: { ...pod.metadata, name: `pod-${count}` } },
      {
        type: 'Normal',
        reason: 'A',
        message: 'b',
      },
    )
  }
  assert.equal(world.recorder.dropped, 500)
  await world.simulation.advance(25_000)
  world.behaviour.chance = 0
  assert.equal((await world.events()).length, 1_000)
})

test('a rejected event is not retried, and retries are limited', async () => {
  const world = new World({ requestFaults: ['refuse'] })
  world.tell('refused')
  world.tell('one')
  assert.deepEqual(
    (await world.events()).map(({ message }) => message),
    ['one'],
  )
  world.behaviour.chance = 1
  world.tell('two')
  await world.simulation.advance(200_000)
  world.behaviour.chance = 0
  world.tell('three')
  assert.deepEqual(
    (await world.events()).map(({ message }) => message),
    ['one', 'three'],
  )
})

class World {
  readonly simulation = new Simulation({ seed: 1 })
  readonly server = new SmallServer({ clock: this.simulation.clock })
  readonly behaviour: FaultOptions
  readonly recorder: EventRecorder
  readonly #client

  constructor(faults: Partial<FaultOptions> = {}) {
    const { clock, random } = this.simulation
    const platform = this.simulation.host('n1')
    this.behaviour = { clock, random, requestFaults: [], streamFaults: [], chance: 0, ...faults }
    const guarded = async (request: ApiRequest): Promise<ApiResponse> => {
      const { message } = (request.body.value ?? {}) as Partial<Event>
      const refusal = forbidden({ group: '', kind: 'events' }, 'the namespace is being terminated').status
      return message === 'refused' ? valueResponse(refusal, 403) : this.server.handle(request)
    }
    const handle = faultyTransport(guarded, this.behaviour)
    const transport = inProcessTransport({ handle, user: { username: 'test', groups: [] } })
    this.#client = clientOf({ platform, transport, userAgent: 'test' })
    this.recorder = new EventRecorder({ client: this.#client, platform, component: 'kubelet', host: 'n1' })
    this.recorder.run(platform.signal).catch(error => assert.fail(String(error)))
  }

  tell(message: string): void {
    this.recorder.record(pod, { type: 'Normal', reason: 'Told', message })
  }

  /** In order of creation. */
  async events(): Promise<readonly Event[]> {
    await this.simulation.advance(11_000)
    const { items } = await this.simulation.run(this.#client.listAll(events))
    const order = this.server.history
      .filter(({ type }) => type === 'ADDED')
      .map(({ object }) => {
        return object.metadata.name
      })
    return items.toSorted((left, right) => {
      return order.indexOf(left.metadata.name) - order.indexOf(right.metadata.name)
    })
  }
}
