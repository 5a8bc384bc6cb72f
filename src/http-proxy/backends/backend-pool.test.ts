import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeStreamProtocols } from '#/platform/node.ts'
import { Simulation } from '#/platform/simulated.ts'
import type { Backend } from '../proxy-configuration.ts'
import { defaultProxyLimits } from '../proxy-limits.ts'
import { BackendPool } from './backend-pool.ts'

function backendOf(addresses: readonly string[], hasClientAffinity = false): Backend {
  const endpoints = addresses.map(address => ({ address, port: 80 }))
  return { id: 'web', protocol: 'http1', endpoints, hasClientAffinity }
}

class World {
  readonly simulation = new Simulation({ seed: 1 })
  readonly platform = this.simulation.host('proxy')
  readonly pool: BackendPool

  constructor(backend: Backend) {
    const { platform } = this
    const options = { platform, protocols: nodeStreamProtocols(), limits: defaultProxyLimits }
    this.pool = new BackendPool(backend, options)
  }

  choose(clientAddress = 'client') {
    const nowMs = this.platform.clock.monotonicMs()
    return this.pool.choose({ clientAddress, excluded: [], nowMs })
  }

  /** Numbers of requests by endpoint, all of which stay outstanding. */
  hold(count: number): Readonly<Record<string, number>> {
    for (let index = 0; index < count; index++) this.choose()!.outstanding++
    return Object.fromEntries(this.pool.endpoints.map(({ at, outstanding }) => [at.address, outstanding]))
  }
}

test('requests go to the endpoint with the fewest, and to idle ones in turn', () => {
  const world = new World(backendOf(['a', 'b', 'c']))
  assert.deepEqual(
    new Set(Array.from({ length: 6 }, () => world.choose()?.at.address)),
    new Set(['a', 'b', 'c']),
  )
  assert.deepEqual(world.hold(9), { a: 3, b: 3, c: 3 })
  world.pool.endpoints[1]!.outstanding = 0
  assert.equal(world.choose()?.at.address, 'b')
})

test('an endpoint that refuses connections is avoided for some time, unless all do', async () => {
  const world = new World(backendOf(['a', 'b']))
  const [a, b] = world.pool.endpoints
  a!.refused(world.platform.clock.monotonicMs())
  for (let index = 0; index < 4; index++) assert.equal(world.choose(), b)
  await world.simulation.advance(1)
  b!.refused(world.platform.clock.monotonicMs())
  assert.equal(world.choose(), a)
  await world.simulation.advance(5_000)
  assert.deepEqual(new Set([world.choose(), world.choose()]), new Set([a, b]))
})

test('a new endpoint gets its full share only after some time', async () => {
  const world = new World(backendOf(['a', 'b']))
  world.pool.apply(backendOf(['a', 'b', 'new']))
  const { new: few = 0, a = 0, b = 0 } = world.hold(42)
  assert.equal(a + b + few, 42)
  assert.ok(few <= 3, `${few}`)
  await world.simulation.advance(10_000)
  for (const endpoint of world.pool.endpoints) endpoint.outstanding = 0
  assert.equal(world.hold(42)['new'], 14)
})

test('a client keeps its endpoint while that exists, and clients are spread', () => {
  const world = new World(backendOf(['a', 'b', 'c'], true))
  const clients = Array.from({ length: 60 }, (_, index) => `10.0.0.${index}`)
  const before = new Map(clients.map(client => [client, world.choose(client)?.at.address]))
  assert.equal(new Set(before.values()).size, 3)
  world.pool.apply(backendOf(['a', 'b'], true))
  for (const [client, address] of before)
    if (address !== 'c') assert.equal(world.choose(client)?.at.address, address)
})

test('endpoints that stay are the same after a change, unless the protocol changes', () => {
  const world = new World(backendOf(['a', 'b']))
  const [a] = world.pool.endpoints
  world.pool.apply(backendOf(['a', 'c']))
  assert.equal(world.pool.endpoints[0], a)
  world.pool.apply({ ...backendOf(['a']), protocol: 'http2' })
  assert.notEqual(world.pool.endpoints[0], a)
})
