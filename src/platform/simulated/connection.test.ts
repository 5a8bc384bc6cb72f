import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import test from 'node:test'
import { Simulation, type NetworkFaults } from '../simulated.ts'
import { windowBytesMax } from './connection.ts'
import { connectTimeoutMs } from './host-network.ts'

const address = { host: 'server', port: 80 }

test('simulated connections deliver data and end in order', async () => {
  const { simulation, client, server } = await connected({ splitRate: 0.5 })
  const sent = Array.from({ length: 200 }, (_, index) => `line ${index}\n`)
  const reading = [text(server), text(client)]
  for (const line of sent) client.write(line)
  client.end()
  server.end('answer')
  assert.deepEqual(await simulation.run(Promise.all(reading)), [sent.join(''), 'answer'])
  assert(client.destroyed && server.destroyed)
})

test('a half-closed connection still receives data', async () => {
  const { simulation, client, server } = await connected()
  let question = ''
  server.on('data', (piece: Buffer) => {
    question += piece.toString()
  })
  server.on('end', () => server.end(`you said ${question}`))
  client.end('hello')
  assert.equal(await simulation.run(text(client)), 'you said hello')
})

test('simulated connections may split data anywhere', async () => {
  const { simulation, client, server } = await connected({ splitRate: 1 })
  const pieces: number[] = []
  server.on('data', (piece: Buffer) => pieces.push(piece.length))
  client.write(Buffer.alloc(100))
  await simulation.settle()
  assert.equal(pieces.length, 2)
  assert.equal(
    pieces.reduce((sum, piece) => sum + piece, 0),
    100,
  )
})

test('an unread simulated connection blocks the writer at its window', async () => {
  const { simulation, client, server } = await connected()
  let written = 0
  const pieceBytes = 1_024
  const write = (): void => {
    client.write(Buffer.alloc(pieceBytes), () => {
      written += pieceBytes
      write()
    })
  }
  write()
  await simulation.settle()
  const most = windowBytesMax + server.readableHighWaterMark + pieceBytes
  assert(written >= windowBytesMax && written <= most, `${written} bytes`)
  const before = written
  for (let read = 0; read < 20; read++) {
    server.read()
    await simulation.settle()
  }
  assert(written > before, 'reading lets the writer go on')
})

test('a partition delays stream data until it heals', async () => {
  const { simulation, client, server } = await connected()
  const received: string[] = []
  server.on('data', (piece: Buffer) => received.push(piece.toString()))
  simulation.network.partition(['client'], ['server'])
  for (const letter of 'abc') client.write(letter)
  await simulation.advance(60_000)
  assert.deepEqual(received, [])
  simulation.network.heal()
  client.write('d')
  await simulation.settle()
  assert.equal(received.join(''), 'abcd')
})

test('cutting a simulated connection resets both ends', async () => {
  const { simulation, client, server } = await connected()
  simulation.network.cut('server', 'client')
  const errors = await simulation.run(Promise.all([once(client, 'error'), once(server, 'error')]))
  const codes = errors.map(([error]) => (error as NodeJS.ErrnoException).code)
  assert.deepEqual(codes, ['ECONNRESET', 'ECONNRESET'])
  assert(client.destroyed && server.destroyed)
  assert.equal(simulation.trace.filter(line => line.includes('network: cut')).length, 1)
})

test('simulated connections break at the configured rate', async () => {
  let broken = 0
  for (let seed = 0; seed < 50; seed++) {
    const { simulation, client, server } = await connected({ cutRate: 0.1 }, seed)
    server.resume()
    for (let write = 0; write < 5; write++) client.write('x')
    await simulation.settle()
    if (client.destroyed && server.destroyed) broken++
  }
  assert(broken > 10 && broken < 32, `${broken} of 50 broke`)
})

test('destroying an end of a simulated connection sends FIN, and later data gets a reset', async () => {
  const { simulation, client, server } = await connected()
  server.resume()
  client.destroy()
  await simulation.run(once(server, 'end'))
  assert(!server.destroyed)
  server.write('are you there')
  const [error] = (await simulation.run(once(server, 'error'))) as [NodeJS.ErrnoException]
  assert.equal(error.code, 'ECONNRESET')
})

test('a crash resets the remote ends of connections only', async () => {
  const { simulation, client, server } = await connected()
  client.on('close', () => assert.fail('the dead hear nothing'))
  simulation.host('client').crash()
  const [error] = (await simulation.run(once(server, 'error'))) as [NodeJS.ErrnoException]
  assert.equal(error.code, 'ECONNRESET')
  client.write('from the grave')
  assert.equal(await simulation.settle(), true)
})

test('connecting fails with ECONNREFUSED, ETIMEDOUT or EHOSTUNREACH', async () => {
  const simulation = new Simulation({ seed: 1 })
  const [client, server] = [simulation.host('client'), simulation.host('server')]
  const connect = (to: Parameters<typeof client.network.connect>[0], code: string): Promise<void> =>
    simulation.run(assert.rejects(client.network.connect(to), { code }))
  await connect({ host: 'nowhere', port: 80 }, 'ENOTFOUND')
  await connect(address, 'ECONNREFUSED')
  await connect({ path: '/run/none.sock' }, 'ENOENT')
  await server.network.listen(address, () => {})
  simulation.network.setFaults({ refuseRate: 1 })
  await connect(address, 'ECONNREFUSED')
  simulation.network.setFaults({ refuseRate: 0 })
  simulation.network.partition(['client'], ['server'])
  const before = simulation.nowMs
  await connect(address, 'ETIMEDOUT')
  assert.equal(simulation.nowMs - before, connectTimeoutMs)
  simulation.network.heal()
  server.crash()
  await connect(address, 'ETIMEDOUT')
  server.restart()
  await connect(address, 'ECONNREFUSED')
})

test('an aborted simulated connect rejects with the reason and leaves no connection', async () => {
  const simulation = new Simulation({ seed: 1 })
  const accepted: Duplex[] = []
  await simulation.host('server').network.listen(address, connection => {
    connection.resume()
    accepted.push(connection)
  })
  const reason = new Error('changed my mind')
  const early = AbortSignal.abort(reason)
  await assert.rejects(simulation.run(simulation.host('client').network.connect(address, early)), reason)
  const controller = new AbortController()
  const attempt = simulation.host('client').network.connect(address, controller.signal)
  simulation.network.partition(['client'], ['server'])
  await simulation.advance(1.5)
  assert.equal(accepted.length, 1)
  controller.abort(reason)
  await assert.rejects(attempt, reason)
  simulation.network.heal()
  await simulation.run(once(accepted[0] ?? assert.fail(), 'end'))
})

test('a simulated Unix socket is local to its host and free after its listener closes', async () => {
  const simulation = new Simulation({ seed: 1 })
  const path = '/run/runtime.sock'
  const [one, other] = [simulation.host('one'), simulation.host('other')]
  const listener = await one.network.listen({ path }, connection => connection.end('hello'))
  assert.deepEqual(listener.address, { path })
  await assert.rejects(
    one.network.listen({ path }, () => {}),
    { code: 'EADDRINUSE' },
  )
  assert.equal(await simulation.run(one.network.connect({ path }).then(text)), 'hello')
  await assert.rejects(simulation.run(other.network.connect({ path })), { code: 'ENOENT' })
  await listener[Symbol.asyncDispose]()
  await assert.rejects(simulation.run(one.network.connect({ path })), { code: 'ENOENT' })
})

async function connected(faults: Partial<NetworkFaults> = {}, seed = 1) {
  const simulation = new Simulation({ seed, network: faults })
  const accepting = Promise.withResolvers<Duplex>()
  await simulation.host('server').network.listen(address, accepting.resolve)
  const client = await simulation.run(simulation.host('client').network.connect(address))
  return { simulation, client, server: await accepting.promise }
}
