import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import test from 'node:test'
import { Simulation } from '#/platform/simulated.ts'
import type { ServiceEndpoint } from '../plan.ts'
import { EndpointBalancer } from './endpoint-balancer.ts'
import { ConnectionLimit } from './portal.ts'
import { TcpPortal } from './tcp-portal.ts'
import { UdpPortal } from './udp-portal.ts'

function endpoints(...hosts: string[]): readonly ServiceEndpoint[] {
  return hosts.map(address => ({ address, port: 80, isLocal: false }))
}

interface World {
  readonly simulation: Simulation
  readonly balancer: EndpointBalancer
  readonly limit: ConnectionLimit
}

function start(max: number): World {
  return {
    simulation: new Simulation({ seed: 1 }),
    balancer: new EndpointBalancer(),
    limit: new ConnectionLimit(max),
  }
}

/** A server that answers with its name. */
async function serve({ simulation }: World, host: string): Promise<void> {
  await simulation.run(
    simulation.host(host).network.listen({ host, port: 80 }, connection => void connection.end(host)),
  )
}

async function ask({ simulation }: World, port: number): Promise<string> {
  const { network } = simulation.host('client')
  const connection = await simulation.run(network.connect({ host: 'node', port }))
  connection.on('error', () => undefined)
  connection.end()
  return simulation.run(text(connection).catch(() => 'closed'))
}

test('an endpoint that refuses a connection is replaced by the next', async () => {
  const world = start(10)
  const { simulation, balancer, limit } = world
  await serve(world, 'b')
  simulation.host('a')
  balancer.set(endpoints('a', 'b'), undefined)
  await using portal = new TcpPortal(simulation.host('node'), balancer, limit)
  const port = await simulation.run(portal.listen('node'))
  for (let times = 0; times < 4; times++) assert.equal(await ask(world, port), 'b')
  balancer.set(endpoints('a'), undefined)
  assert.equal(await ask(world, port), '')
  balancer.set([], undefined)
  assert.equal(await ask(world, port), '')
})

test('connections past the bound are closed, and an ended one makes room', async () => {
  const world = start(1)
  const { simulation, balancer, limit } = world
  await serve(world, 'b')
  balancer.set(endpoints('b'), undefined)
  await using portal = new TcpPortal(simulation.host('node'), balancer, limit)
  const port = await simulation.run(portal.listen('node'))
  assert(limit.take())
  assert.equal(await ask(world, port), '')
  limit.release()
  assert.equal(await ask(world, port), 'b')
  await simulation.advance(1_000)
  assert.equal(await ask(world, port), 'b')
})

test('datagrams of a client have one endpoint until it is idle or the endpoint is gone', async () => {
  const world = start(2)
  const { simulation, balancer, limit } = world
  for (const host of ['a', 'b']) {
    const { network } = simulation.host(host)
    const socket = await simulation.run(
      network.bindDatagram({ host, port: 80 }, (_message, from) => socket.send(Buffer.from(host), from)),
    )
  }
  const [a, b] = ['a', 'b'].map(host => simulation.host(host).address) as [string, string]
  balancer.set(endpoints(a, b), undefined)
  await using portal = new UdpPortal(simulation.host('node'), balancer, limit)
  const port = await simulation.run(portal.listen('node'))
  const client = async (name: string): Promise<() => Promise<string>> => {
    const { network } = simulation.host(name)
    let answer = ''
    const socket = await simulation.run(
      network.bindDatagram(
        { host: name, port: 0 },
        message => void (answer = Buffer.from(message).toString()),
      ),
    )
    return async () => {
      answer = ''
      socket.send(Buffer.from('hello'), { host: 'node', port })
      await simulation.advance(1_000)
      return answer
    }
  }
  const [x, y, z] = [await client('x'), await client('y'), await client('z')]
  assert.deepEqual([await x(), await x(), await y(), await y()], ['a', 'a', 'b', 'b'])
  assert.equal(await z(), '', 'past the bound datagrams are lost')
  await simulation.advance(20_000)
  assert.equal(await z(), 'a', 'silent clients are forgotten')
  balancer.set(endpoints(b), undefined)
  portal.endpointsChanged()
  assert.equal(await z(), 'b')
})
