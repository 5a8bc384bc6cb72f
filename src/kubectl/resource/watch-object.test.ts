import assert from 'node:assert/strict'
import { test } from 'node:test'
import { configMaps } from '#/api/generated/core/v1-resources.ts'
import { isObject } from '#/api/text/json-object.ts'
import { ApiServer } from '#/apiserver/api-server.ts'
import { clientOf } from '#/client/client.ts'
import { inProcessTransport } from '#/client/in-process.ts'
import { Simulation } from '#/platform/simulated.ts'
import { faultyTransport, requestFaults, streamFaults } from '#/simulation/faulty-transport.ts'
import { MemoryStore } from '#/store/memory.ts'
import { ResourceClient } from './resource-client.ts'
import { watchObject } from './watch-object.ts'

const web = { namespace: 'default', name: 'web' }

/** A watch without a time limit cannot notice a server that stalls, and old events are a fault of the server. */
const streamFaultsUsed = streamFaults.filter(fault => !['stall', 'old'].includes(fault))
const requestFaultsUsed = requestFaults.filter(fault => fault !== 'stall')

test('an object is followed until it is deleted, over broken connections', async () => {
  for (let seed = 1; seed <= 15; seed++) {
    const simulation = new Simulation({ seed })
    await simulation.run(followObject(simulation))
  }
})

async function followObject(simulation: Simulation): Promise<void> {
  const { clock, random } = simulation
  const platform = simulation.host('server')
  const server = await ApiServer.start({
    platform,
    store: await MemoryStore.open({ platform }),
    build: { version: '0.0.0' },
  })
  const user = { username: 'test', groups: ['system:masters'] }
  const faults = {
    clock,
    random,
    requestFaults: requestFaultsUsed,
    streamFaults: streamFaultsUsed,
    chance: 0.2,
  }
  const transport = inProcessTransport({ handle: faultyTransport(server.handle, faults), user })
  const options = { platform: simulation.host('client'), userAgent: 'test' }
  const writer = clientOf({ ...options, transport: inProcessTransport({ handle: server.handle, user }) })
  await writer.create(configMaps, { metadata: web, data: { count: '0' } })
  const writing = (async () => {
    for (let count = 1; count <= 10; count++) {
      await clock.sleep(500)
      await writer.patch(configMaps, web, { type: 'merge', patch: { data: { count: String(count) } } })
    }
    await clock.sleep(30_000)
    await writer.delete(configMaps, web)
  })()
  const counts: number[] = []
  const resources = new ResourceClient(clientOf({ ...options, transport }))
  const { signal } = new AbortController()
  for await (const { object, isDeleted } of watchObject(
    { resources, clock, info: { mapping: configMaps, ...web } },
    signal,
  )) {
    if (object === undefined) {
      assert.equal(isDeleted, true)
      break
    }
    counts.push(isObject(object['data']) ? Number(object['data']['count']) : NaN)
  }
  await writing
  assert.deepEqual(
    counts,
    counts.toSorted((a, b) => a - b),
  )
  assert.equal(counts.at(-1), 10)
  await server.stop()
}
