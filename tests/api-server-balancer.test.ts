/** The balancer of API servers with real sockets on loopback addresses. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  connect as connectHttp2,
  createSecureServer,
  type ClientHttp2Session,
  type ServerHttp2Session,
} from 'node:http2'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { test, type TestContext } from 'node:test'
import {
  ApiServerBalancer,
  type ApiServerBalancerOptions,
  type ServerList,
} from '#/api-balancer/api-server-balancer.ts'
import { formatServerAddress } from '#/api-balancer/server-address.ts'
import { nodePlatform } from '#/platform/node.ts'
import { testCertificates, type TestCertificates } from './http/test-certificates.ts'
import { waitUntil, waitUntilStable } from './wait-until.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })

interface Running {
  readonly balancer: ApiServerBalancer
  readonly host: string
  readonly port: number
  readonly stop: () => Promise<void>
}

async function start(
  t: TestContext,
  servers: readonly string[],
  options: Partial<ApiServerBalancerOptions> = {},
): Promise<Running> {
  const list = { servers, bootstrapServers: [] }
  const balancer = new ApiServerBalancer({ platform, port: 0, servers: list, ...options })
  const stopping = new AbortController()
  const running = balancer.run(stopping.signal)
  const stop = (): Promise<void> => {
    stopping.abort()
    return running
  }
  t.after(stop)
  return { balancer, stop, ...(await balancer.listening) }
}

/** A TCP server; returns its address. */
async function serve(t: TestContext, host: string, onConnection: (socket: Socket) => void): Promise<string> {
  const server = createServer({ allowHalfOpen: true }, socket => {
    socket.on('error', () => undefined)
    t.after(() => socket.destroy())
    onConnection(socket)
  })
  server.listen({ host, port: 0, backlog: 4_000 })
  await once(server, 'listening')
  t.after(() => server.close())
  return formatServerAddress({ host, port: (server.address() as AddressInfo).port })
}

interface Http2Server {
  readonly address: string
  /** Closes the port and all connections, as the kernel does for a killed process. */
  readonly kill: () => void
}

/** An HTTP/2 server with TLS that answers with its address, and never ends the response of /watch. */
async function serveHttp2(
  t: TestContext,
  { server: tls }: TestCertificates,
  host: string,
): Promise<Http2Server> {
  const sessions = new Set<ServerHttp2Session>()
  const server = createSecureServer({ cert: tls.cert, key: tls.key }, (request, response) => {
    response.write(host)
    if (request.url !== '/watch') response.end()
  })
  server.on('session', session => {
    sessions.add(session)
    session.on('error', () => undefined)
  })
  server.listen(0, host)
  await once(server, 'listening')
  const kill = (): void => {
    server.close()
    for (const session of sessions) session.destroy()
  }
  t.after(kill)
  return { address: formatServerAddress({ host, port: (server.address() as AddressInfo).port }), kill }
}

interface Answer {
  readonly server: string
  readonly session: ClientHttp2Session
  readonly closed: Promise<unknown>
}

async function get(t: TestContext, running: Running, ca: string, path = '/'): Promise<Answer> {
  const session = connectHttp2(`https://127.0.0.1:${running.port}`, { ca })
  t.after(() => session.destroy())
  const closed = new Promise(resolve => session.once('close', resolve))
  session.on('error', () => undefined)
  const stream = session.request({ ':path': path })
  stream.on('error', () => undefined)
  const [server] = (await once(stream.setEncoding('utf8'), 'data')) as [string]
  return { server, session, closed }
}

test('HTTP/2 connections over TLS are distributed, and survive the removal and the death of other servers', async t => {
  const certificates = await testCertificates(t)
  const servers = await Promise.all(
    ['127.0.0.1', '127.0.0.2', '127.0.0.3'].map(host => serveHttp2(t, certificates, host)),
  )
  const addresses = servers.map(({ address }) => address)
  const running = await start(t, addresses)
  const watches: Answer[] = []
  for (let count = 0; count < 6; count++) watches.push(await get(t, running, certificates.ca, '/watch'))
  const through = (host: string): Answer[] => watches.filter(({ server }) => server === host)
  for (const host of ['127.0.0.1', '127.0.0.2', '127.0.0.3']) assert.equal(through(host).length, 2)

  servers[0]!.kill()
  await Promise.all(through('127.0.0.1').map(({ closed }) => closed))
  // Connecting to the killed server is tried at most once, inside of one client connection.
  for (let count = 0; count < 4; count++)
    assert.notEqual((await get(t, running, certificates.ca)).server, '127.0.0.1')
  const killed = running.balancer.describe().servers.find(({ server }) => server === addresses[0])
  assert.equal(killed?.isHealthy, false)

  running.balancer.setServers({ servers: [addresses[2]!], bootstrapServers: [] })
  await Promise.all(through('127.0.0.2').map(({ closed }) => closed))
  assert.equal((await get(t, running, certificates.ca)).server, '127.0.0.3')
  assert.ok(through('127.0.0.3').every(({ session }) => !session.destroyed))
  await running.stop()
  await Promise.all(through('127.0.0.3').map(({ closed }) => closed))
})

test('the preferred server gets all connections while it is healthy', async t => {
  const certificates = await testCertificates(t)
  const other = await serveHttp2(t, certificates, '127.0.0.2')
  const own = await serveHttp2(t, certificates, '127.0.0.1')
  const running = await start(t, [other.address, own.address], { preferredServer: own.address })
  for (let count = 0; count < 4; count++)
    assert.equal((await get(t, running, certificates.ca)).server, '127.0.0.1')
  own.kill()
  for (let count = 0; count < 2; count++)
    assert.equal((await get(t, running, certificates.ca)).server, '127.0.0.2')
})

function connect({ host, port }: Pick<Running, 'host' | 'port'>): Promise<Duplex> {
  return platform.network.connect({ host, port })
}

function pastEnd(connection: Duplex): Promise<string> {
  let text = ''
  connection.on('data', (bytes: Buffer) => (text += bytes.toString('latin1')))
  return new Promise(resolve => connection.once('end', () => resolve(text)))
}

test('each direction of a connection ends by itself', async t => {
  const clientFirst = await serve(t, '127.0.0.1', socket => {
    void pastEnd(socket).then(received => socket.end(`${received.length} bytes`))
  })
  const first = await connect(await start(t, [clientFirst]))
  first.end('x'.repeat(1_000_000))
  assert.equal(await pastEnd(first), '1000000 bytes')

  const received = Promise.withResolvers<string>()
  const serverFirst = await serve(t, '127.0.0.1', socket => {
    socket.end('done')
    void pastEnd(socket).then(received.resolve)
  })
  const running = await start(t, [serverFirst])
  const second = await connect(running)
  assert.equal(await pastEnd(second), 'done')
  second.end('still sent')
  assert.equal(await received.promise, 'still sent')
  await waitUntil(() => running.balancer.describe().connectionCount === 0)
})

test('a reset on one side closes the other', async t => {
  const accepted = Promise.withResolvers<Socket>()
  const address = await serve(t, '127.0.0.1', socket => {
    socket.write('hello')
    accepted.resolve(socket)
  })
  const running = await start(t, [address])
  const client = await connect(running)
  await once(client, 'data')
  const server = await accepted.promise
  const closed = once(client, 'end')
  server.resetAndDestroy()
  await closed
  client.destroy()
  await waitUntil(() => running.balancer.describe().connectionCount === 0)
})

test('a server whose client does not read is stopped, and no data is lost', async t => {
  let sentBytes = 0
  const totalBytes = 64 * 1024 * 1024
  const piece = Buffer.alloc(64 * 1024, 'x')
  const server = await serve(t, '127.0.0.1', socket => {
    const send = (): void => {
      while (sentBytes < totalBytes) {
        sentBytes += piece.length
        if (!socket.write(piece)) return void socket.once('drain', send)
      }
      socket.end()
    }
    send()
  })
  const client = await connect(await start(t, [server]))
  await waitUntilStable(() => sentBytes)
  // The buffers of two connections in the kernel, and of four sockets here.
  assert.ok(sentBytes < 32 * 1024 * 1024, `${sentBytes} bytes`)
  let receivedBytes = 0
  client.on('data', (bytes: Buffer) => (receivedBytes += bytes.length))
  await once(client, 'end')
  assert.equal(receivedBytes, totalBytes)
})

test('2,000 connections at once are distributed evenly, and abort closes all', async t => {
  const echo = (socket: Socket): void => void socket.pipe(socket)
  const servers = [await serve(t, '127.0.0.2', echo), await serve(t, '127.0.0.3', echo)]
  const running = await start(t, servers)
  const connections = await Promise.all(Array.from({ length: 2_000 }, () => connect(running)))
  t.after(() => connections.forEach(each => each.destroy()))
  const answers = connections.map(async (connection, index) => {
    connection.write(`${index}`)
    const [bytes] = (await once(connection, 'data')) as [Buffer]
    assert.equal(bytes.toString(), `${index}`)
  })
  await Promise.all(answers)
  const { connectionCount, servers: states } = running.balancer.describe()
  assert.deepEqual([connectionCount, ...states.map(state => state.connectionCount)], [2_000, 1_000, 1_000])
  const ended = connections.map(connection => once(connection, 'close'))
  for (const connection of connections) connection.once('end', () => connection.end())
  await running.stop()
  await Promise.all(ended)
  assert.equal(running.balancer.describe().connectionCount, 0)
})

test('connections past the maximum are closed at once', async t => {
  const echo = (socket: Socket): void => void socket.pipe(socket)
  const running = await start(t, [await serve(t, '127.0.0.1', echo)], { connectionsMax: 2 })
  const first = await connect(running)
  const second = await connect(running)
  const refused = await connect(running)
  assert.equal(await pastEnd(refused), '')
  second.destroy()
  await waitUntil(() => running.balancer.describe().connectionCount === 1)
  const third = await connect(running)
  third.write('again')
  assert.equal(String((await once(third, 'data'))[0]), 'again')
  for (const each of [first, third]) each.destroy()
})

test('clients and API servers may have IPv6 addresses', async t => {
  const server = await serve(t, '::1', socket => socket.end('six'))
  const running = await start(t, [server], { host: '::1' })
  assert.equal(running.host, '::1')
  assert.equal(await pastEnd(await connect(running)), 'six')
  assert.match(running.balancer.describe().servers[0]!.server, /^\[::1\]:\d+$/)
})

test('an address in use, the own address and an invalid list are refused with the reason', async t => {
  const { port, balancer } = await start(t, ['127.0.0.2:6443'])
  const taken = new ApiServerBalancer({
    platform,
    port,
    servers: { servers: ['127.0.0.2:6443'], bootstrapServers: [] },
  })
  const error = /cannot listen on 127.0.0.1 port/
  await assert.rejects(taken.run(new AbortController().signal), error)
  await assert.rejects(taken.listening, error)
  const make = (servers: ServerList, preferredServer?: string): void =>
    void new ApiServerBalancer({ platform, port: 6443, servers, preferredServer })
  const valid = { servers: ['10.0.0.1:6443'], bootstrapServers: [] }
  assert.throws(() => make({ servers: ['127.0.0.1:6443'], bootstrapServers: [] }), /the balancer itself/)
  assert.throws(() => make({ servers: [], bootstrapServers: [] }), /is empty/)
  assert.throws(() => make({ ...valid, bootstrapServers: ['10.0.0.1'] }), /not an address HOST:PORT/)
  assert.throws(() => make(valid, '10.0.0.1'), /not an address HOST:PORT/)
  const own = [formatServerAddress({ host: '127.0.0.1', port })]
  assert.throws(() => balancer.setServers({ servers: own, bootstrapServers: [] }), /the balancer itself/)
  assert.deepEqual(
    balancer.describe().servers.map(({ server }) => server),
    ['127.0.0.2:6443'],
  )
})
