import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { inProcessTransport } from '#/client/in-process.ts'
import { clientOf, type Client } from '#/client/client.ts'
import type { Service } from '#/api/generated/core/v1.ts'
import { services } from '#/api/generated/core/v1-resources.ts'
import { ipAddresses } from '#/api/generated/networking/v1-resources.ts'
import { Simulation } from '#/platform/simulated.ts'
import { MemoryStore } from '#/store/memory.ts'
import { ApiServer } from '../api-server.ts'

const namespace = 'default'

interface Plane {
  readonly simulation: Simulation
  readonly store: MemoryStore
  readonly client: Client
}

async function start(t: Pick<TestContext, 'after'>): Promise<Plane> {
  const simulation = new Simulation({ seed: 1 })
  const platform = simulation.host('server')
  const store = await simulation.run(MemoryStore.open({ platform }))
  const server = await simulation.run(ApiServer.start({ platform, store, build: { version: '0.0.0' } }))
  t.after(() => simulation.run(server.stop()))
  const user = { username: 'admin', groups: ['system:masters', 'system:authenticated'] }
  const transport = inProcessTransport({ handle: server.handle, user })
  return { simulation, store, client: clientOf({ platform, transport, userAgent: 'test' }) }
}

async function make(
  { simulation, client }: Plane,
  name: string,
  spec: Service['spec'] = {},
): Promise<Service> {
  const ports = [{ port: 80 }]
  return simulation.run(
    client.create(services, { metadata: { namespace, name }, spec: { type: 'NodePort', ports, ...spec } }),
  )
}

async function addresses({ simulation, client }: Plane): Promise<readonly string[]> {
  const { items } = await simulation.run(client.list(ipAddresses))
  return items.map(({ metadata }) => metadata.name).sort()
}

/** Deletes directly from the store, bypassing the API server. */
async function remove({ simulation, store }: Plane, key: string): Promise<void> {
  const { revision = 0 } = (await simulation.run(store.get(key))) ?? {}
  await simulation.run(store.delete(key, { expectedRevision: revision }))
}

test('leaked cluster IPs and node ports are released after repeated sightings', async t => {
  const plane = await start(t)
  const { simulation, store } = plane
  const gone = await make(plane, 'gone')
  const kept = await make(plane, 'kept')
  const nodePort = gone.spec?.ports?.[0]?.nodePort ?? 0
  await remove(plane, '/registry/services/specs/default/gone')
  await simulation.advance(30_000)
  assert.ok((await addresses(plane)).includes(gone.spec?.clusterIP ?? ''))
  await simulation.advance(360_000)
  assert.deepEqual(await addresses(plane), ['10.96.0.1', kept.spec?.clusterIP ?? ''].sort())
  const taken = { ports: [{ port: 80, nodePort }], clusterIP: gone.spec?.clusterIP ?? '' }
  await assert.rejects(make(plane, 'again', taken), /provided port is already allocated/)
  await simulation.advance(360_000)
  await make(plane, 'again', taken)
  const revision = await simulation.run(store.revision())
  await simulation.advance(1_000_000)
  assert.equal(await simulation.run(store.revision()), revision)
})

test('missing allocations of services are repaired', async t => {
  const plane = await start(t)
  const { simulation } = plane
  const { spec } = await make(plane, 'web')
  await remove(plane, `/registry/ipaddresses/${spec?.clusterIP}`)
  await remove(plane, '/registry/ranges/servicenodeports')
  await simulation.advance(200_000)
  assert.ok((await addresses(plane)).includes(spec?.clusterIP ?? ''))
  const ports = [{ port: 80, nodePort: spec?.ports?.[0]?.nodePort ?? 0 }]
  await assert.rejects(make(plane, 'other', { ports }), /provided port is already allocated/)
})

test('IPAddresses of other managers are not released', async t => {
  const plane = await start(t)
  const { simulation, client } = plane
  await simulation.run(
    client.create(ipAddresses, {
      metadata: { name: '192.0.2.1' },
      spec: { parentRef: { group: 'example.com', resource: 'gateways', name: 'edge' } },
    }),
  )
  await simulation.advance(600_000)
  assert.ok((await addresses(plane)).includes('192.0.2.1'))
})
