/** Hosts that are cut off, refuse, hang and recover, in virtual time. */
import assert from 'node:assert/strict'
import type { Duplex } from 'node:stream'
import { test, type TestContext } from 'node:test'
import { Simulation, type SimulatedHost } from '#/platform/simulated.ts'
import { ApiServerBalancer, type ServerDescription, type ServerList } from './api-server-balancer.ts'

const port = 6443

interface World {
  readonly simulation: Simulation
  readonly balancer: ApiServerBalancer
  /** Starts the API servers of these hosts. They answer data with their name and retain connections. */
  readonly serve: (...names: readonly string[]) => Promise<readonly AsyncDisposable[]>
  /** The server that answers on a new connection, and the connection. */
  readonly ask: () => Promise<{ readonly server: string; readonly connection: Duplex }>
  readonly describe: (name: string) => ServerDescription | undefined
  readonly abort: () => Promise<void>
}

async function start(t: TestContext, list: Partial<ServerList> = {}): Promise<World> {
  const simulation = new Simulation({ seed: 7 })
  const node = simulation.host('node')
  const host = (name: string): SimulatedHost => simulation.host(name)
  const { servers = ['a:6443', 'b:6443'], bootstrapServers = [] } = list
  for (const name of ['a', 'b', 'c']) host(name)
  const balancer = new ApiServerBalancer({ platform: node, port, servers: { servers, bootstrapServers } })
  const stopping = new AbortController()
  const running = balancer.run(stopping.signal)
  t.after(() => {
    stopping.abort()
    return simulation.run(running)
  })
  await simulation.run(balancer.listening)
  return {
    simulation,
    balancer,
    serve: (...names) => {
      const listening = names.map(name => {
        return host(name).network.listen({ host: '0.0.0.0', port }, connection => {
          connection.on('data', () => connection.write(name))
          connection.once('end', () => connection.end())
        })
      })
      return simulation.run(Promise.all(listening))
    },
    ask: async () => {
      const connection = await simulation.run(node.network.connect({ host: '127.0.0.1', port }))
      connection.write('hello')
      const answered = new Promise<string>(resolve => {
        connection.once('data', (bytes: Buffer) => resolve(bytes.toString()))
        connection.once('close', () => resolve('closed'))
        connection.once('end', () => resolve('closed'))
      })
      return { server: await simulation.run(answered), connection }
    },
    describe: name => balancer.describe().servers.find(({ server }) => server === `${name}:${port}`),
    abort: () => {
      stopping.abort()
      return simulation.run(running)
    },
  }
}

test('connections to a host that was cut off are closed within 10 s, and nothing runs without connections', async t => {
  const { simulation, serve, ask, describe } = await start(t)
  await serve('a', 'b')
  const first = await ask()
  const second = await ask()
  assert.deepEqual([first.server, second.server].sort(), ['a', 'b'])
  await simulation.advance(60_000)
  assert.equal(first.connection.destroyed || first.connection.readableEnded, false)
  const cutMs = simulation.nowMs
  simulation.network.partition(['node'], [first.server])
  while (!first.connection.destroyed && !first.connection.readableEnded && simulation.nowMs < cutMs + 60_000)
    await simulation.advance(100)
  const noticedMs = simulation.nowMs - cutMs
  assert.ok(noticedMs > 2_000 && noticedMs < 10_000, `${noticedMs} ms`)
  assert.equal(second.connection.destroyed, false)
  const again = await ask()
  assert.equal(again.server, second.server)
  assert.equal(describe(first.server)?.isHealthy, false)
  for (const { connection } of [second, again]) connection.destroy()
  assert.equal(await simulation.settle(60_000), true)
})

test('a healed network is used again, and its connections survive a short interruption', async t => {
  const { simulation, serve, ask, describe } = await start(t)
  await serve('a', 'b')
  const { server, connection } = await ask()
  simulation.network.partition(['node'], [server])
  await simulation.advance(4_000)
  simulation.network.heal()
  await simulation.advance(20_000)
  assert.equal(connection.destroyed, false)
  assert.deepEqual([describe(server)?.isHealthy, describe(server)?.connectionCount], [true, 1])
})

test('a refused attempt goes to the next server, and the failed one is retried after growing pauses', async t => {
  const { simulation, serve, ask, describe } = await start(t)
  await serve('b')
  // The first choice is random: until the failed server was tried.
  for (let tries = 0; describe('a')?.isHealthy && tries < 10; tries++) assert.equal((await ask()).server, 'b')
  const { error, retryInMs } = describe('a')!
  assert.match(error ?? '', /connection refused/)
  assert.ok(retryInMs! > 0 && retryInMs! <= 1_200)
  let longestMs = 0
  for (let tries = 0; tries < 40; tries++) {
    assert.equal((await ask()).server, 'b')
    await simulation.advance(5_000)
    longestMs = Math.max(longestMs, describe('a')?.retryInMs ?? 0)
  }
  assert.ok(longestMs > 20_000, `${longestMs} ms`)
  await serve('a')
  await simulation.advance(60_000)
  // This connection starts the retry, in the background.
  assert.equal((await ask()).server, 'b')
  await simulation.advance(1_000)
  assert.equal(describe('a')?.isHealthy, true)
  assert.equal((await ask()).server, 'a')
})

test('a server that accepts connections but does not answer is not chosen again for a while', async t => {
  const { simulation, serve, ask } = await start(t)
  await simulation.run(simulation.host('a').network.listen({ host: '0.0.0.0', port }, () => undefined))
  await serve('b')
  const answers: string[] = []
  for (let tries = 0; tries < 4; tries++) answers.push((await ask()).server)
  assert.deepEqual(answers.toSorted(), ['b', 'b', 'b', 'closed'])
})

test('a connection without data is not closed, though the server sends nothing either', async t => {
  const { simulation, serve } = await start(t)
  await serve('a', 'b')
  const { network } = simulation.host('node')
  const connection = await simulation.run(network.connect({ host: '127.0.0.1', port }))
  await simulation.advance(10 * 60_000)
  assert.equal(connection.destroyed || connection.readableEnded, false)
})

test('the bootstrap server is the last resort; without any server connections are closed', async t => {
  const { serve, ask } = await start(t, { bootstrapServers: ['c:6443'] })
  assert.equal((await ask()).server, 'closed')
  await serve('c')
  assert.equal((await ask()).server, 'c')
  await serve('a')
  assert.equal((await ask()).server, 'a')
})

test('connections to a removed server are closed after five seconds, others stay', async t => {
  const { simulation, balancer, serve, ask, describe } = await start(t)
  await serve('a', 'b', 'c')
  const before = [await ask(), await ask()]
  const [removed, kept] = before[0]!.server === 'a' ? before : before.toReversed()
  balancer.setServers({ servers: ['b:6443', 'c:6443'], bootstrapServers: ['a:6443'] })
  await simulation.advance(4_000)
  assert.equal(removed!.connection.destroyed, false)
  const roles = balancer.describe().servers.map(({ server, role }) => `${server} ${role}`)
  assert.deepEqual(roles, ['b:6443 server', 'a:6443 last-resort', 'c:6443 server', 'a:6443 draining'])
  assert.equal((await ask()).server, 'c')
  await simulation.advance(1_500)
  assert.equal(removed!.connection.readableEnded || removed!.connection.destroyed, true)
  assert.equal(kept!.connection.destroyed, false)
  assert.deepEqual([describe('a')?.role, describe('a')?.connectionCount], ['last-resort', 0])
})

test('abort closes all connections, also those that are being established, and leaves no timer', async t => {
  const { simulation, serve, ask, abort, balancer } = await start(t)
  await serve('a', 'b')
  const { connection } = await ask()
  simulation.network.partition(['node'], ['a', 'b'])
  const { network } = simulation.host('node')
  const pending = await simulation.run(network.connect({ host: '127.0.0.1', port }))
  pending.resume()
  balancer.setServers({ servers: ['c:6443'], bootstrapServers: [] })
  await abort()
  await simulation.advance(100)
  for (const each of [connection, pending]) assert.ok(each.readableEnded)
  assert.equal(balancer.describe().connectionCount, 0)
  simulation.network.heal()
  assert.equal(await simulation.settle(1_000), true)
  await assert.rejects(simulation.run(network.connect({ host: '127.0.0.1', port })), { code: 'ECONNREFUSED' })
})
