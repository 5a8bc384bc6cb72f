import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { endpoints } from '#/api/generated/core/v1-resources.ts'
import { leases } from '#/api/generated/coordination/v1-resources.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import { clientOf, type Client } from '#/client/client.ts'
import { inProcessTransport } from '#/client/in-process.ts'
import { Simulation } from '#/platform/simulated.ts'
import { MemoryStore } from '#/store/memory.ts'
import type { Store } from '#/store/store.ts'
import { ApiServer } from '../api-server.ts'

const at = { namespace: 'default', name: 'kubernetes' }

test('endpoints are the addresses of the running servers; one that stops removes itself', async t => {
  const world = await start(t)
  const first = await world.server('10.0.0.1')
  assert.equal(await world.addresses(), '10.0.0.1 | 10.0.0.1')
  const second = await world.server('10.0.0.2')
  assert.equal(await world.addresses(), '10.0.0.1 10.0.0.2 | 10.0.0.1 10.0.0.2')
  await world.simulation.advance(120_000)
  assert.equal(await world.addresses(), '10.0.0.1 10.0.0.2 | 10.0.0.1 10.0.0.2')
  await world.run(first.stop())
  assert.equal(await world.addresses(), '10.0.0.2 | 10.0.0.2')
  await world.run(second.stop())
  assert.deepEqual(await world.keys(), [])
})

test('the address of a server that crashes is removed when its lease has expired', async t => {
  const world = await start(t)
  await world.server('10.0.0.1')
  await world.server('10.0.0.2', 'crashing')
  world.simulation.host('crashing').crash()
  await world.simulation.advance(5_000)
  assert.equal(await world.addresses(), '10.0.0.1 10.0.0.2 | 10.0.0.1 10.0.0.2')
  await world.simulation.advance(25_000)
  assert.equal(await world.addresses(), '10.0.0.1 | 10.0.0.1')
})

test('every server renews an identity lease; those of servers that are gone are deleted', async t => {
  const world = await start(t)
  const second = await world.server('10.0.0.2')
  await world.server('10.0.0.1')
  await world.simulation.advance(15_000)
  const before = await world.identities()
  assert.equal(before.length, 2)
  for (const { metadata, spec } of before) {
    assert.match(metadata.name, /^apiserver-[a-z2-7]{26}$/)
    assert.equal(spec?.leaseDurationSeconds, 3_600)
  }
  await world.run(second.stop())
  await world.simulation.advance(3 * 3_600_000)
  const after = await world.identities()
  assert.equal(after.length, 1)
  assert.notEqual(after[0]!.spec?.renewTime, before[0]!.spec?.renewTime)
})

test('a server that does not share its store has neither keys nor an identity, and writes nothing', async t => {
  const world = await start(t)
  await world.server('10.0.0.1', 'alone', false)
  await world.simulation.advance(60_000)
  const revision = await world.run(world.store.revision())
  await world.simulation.advance(600_000)
  assert.equal(await world.run(world.store.revision()), revision)
  assert.equal(await world.addresses(), '10.0.0.1 | 10.0.0.1')
  assert.deepEqual(await world.keys(), [])
  assert.deepEqual(await world.identities(), [])
})

async function start(t: TestContext) {
  const simulation = new Simulation({ seed: 1 })
  const run = <T>(promise: Promise<T>): Promise<T> => simulation.run(promise)
  const store: Store = await run(MemoryStore.open({ platform: simulation.host('store') }))
  const clients: Client[] = []
  const server = async (address: string, host = 'control-plane', isShared = true): Promise<ApiServer> => {
    const platform = simulation.host(host)
    const started = await run(
      ApiServer.start({
        platform,
        store,
        build: { version: '0.0.0' },
        advertise: { address, port: 6443 },
        ...(isShared && { sharedStore: { hostName: host } }),
      }),
    )
    if (host !== 'crashing') t.after(() => run(started.stop()))
    const user = { username: 'admin', groups: ['system:masters', 'system:authenticated'] }
    const transport = inProcessTransport({ handle: started.handle, user })
    if (host !== 'crashing') clients.push(clientOf({ platform, transport, userAgent: 'test' }))
    return started
  }
  const running = (): Client => clients.at(-1)!
  const addresses = async (): Promise<string> => {
    const stored = await run(running().get(endpoints, at))
    const slice = await run(running().get(endpointSlices, at))
    const ips = stored.subsets?.flatMap(each => each.addresses ?? []).map(({ ip }) => ip) ?? []
    return `${ips.join(' ')} | ${slice.endpoints?.flatMap(each => each.addresses).join(' ')}`
  }
  const keys = async (): Promise<readonly string[]> =>
    (await run(store.list({ prefix: '/registry/masterleases/' }))).entries.map(({ key }) => key)
  const identities = async () => {
    const labelSelector = 'apiserver.kubernetes.io/identity=kube-apiserver'
    return (await run(running().list(leases, { namespace: 'kube-system', labelSelector }))).items
  }
  return { simulation, run, store, server, addresses, keys, identities }
}
