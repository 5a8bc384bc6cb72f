/** The reverse proxy with TLS and HTTP/2, towards clients and backends, with real sockets. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  connect as connectHttp2,
  createServer as createHttp2Server,
  createSecureServer,
  type ClientHttp2Session,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2'
import { createServer as createHttpsServer } from 'node:https'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { test, type TestContext } from 'node:test'
import { SeededRandom } from '#/base/seeded-random.ts'
import { waitUntil } from '../wait-until.ts'
import {
  backendAt,
  configurationOf,
  exchangeRaw,
  listen,
  loopback,
  RawClient,
  routeTo,
  selfSigned,
  startBackend,
  startProxy,
  startRawBackend,
} from './test-proxy.ts'

interface Answer {
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: Buffer
  readonly trailers: Readonly<Record<string, unknown>>
}

async function ask(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
  body?: Buffer,
): Promise<Answer> {
  const stream = session.request(headers, { endStream: body === undefined })
  if (body) stream.end(body)
  let trailers = {}
  stream.once('trailers', received => (trailers = received))
  const [response] = await once(stream, 'response')
  const pieces: Buffer[] = []
  stream.on('data', (piece: Buffer) => pieces.push(piece))
  await once(stream, 'close')
  assert.equal(stream.rstCode, 0)
  return { headers: response as Answer['headers'], body: Buffer.concat(pieces), trailers }
}

function session(
  t: TestContext,
  port: number,
  options: Parameters<typeof connectHttp2>[1] = {},
): ClientHttp2Session {
  const secure = options && 'servername' in options
  const made = connectHttp2(`${secure ? 'https' : 'http'}://${loopback}:${port}`, {
    rejectUnauthorized: false,
    ...options,
  })
  made.on('error', () => undefined)
  t.after(() => made.destroy())
  return made
}

test('HTTP/2 requests in clear reach an HTTP/1.1 backend', async t => {
  const backend = await startBackend(t, (request, response) => {
    response.setHeader(
      'x-seen',
      `${request.method} ${request.url} ${request.headers.host} ${request.headers.cookie}`,
    )
    request.pipe(response)
  })
  const { port } = await startProxy(t, configurationOf({ backends: [backendAt([backend])] }))
  const client = session(t, port)
  const body = randomBytes(1_000_000)
  const post = {
    ':method': 'POST',
    ':path': '/x?y',
    ':authority': 'web.example.com',
    'cookie': ['a=1', 'b=2'],
  }
  const answers = await Promise.all(Array.from({ length: 10 }, () => ask(client, post, body)))
  for (const answer of answers) {
    assert.equal(answer.headers['x-seen'], 'POST /x?y web.example.com a=1; b=2')
    assert.ok(answer.body.equals(body))
  }
  const head = await ask(client, { ':method': 'HEAD', ':path': '/', ':authority': 'a' })
  assert.equal(head.headers[':status'], 200)
  assert.equal((await ask(client, { ':path': '/', ':authority': 'b' })).headers[':status'], 200)
})

test('a route without a backend is answered over HTTP/2 while the client still sends', async t => {
  const routes = [routeTo('none', { bodyBytesMax: 10 })]
  const hosts = [{ hostname: 'a', wildcard: 'one-label', routes }] as const
  const backend = await startBackend(t, () => undefined)
  const backends = [backendAt([backend], { id: 'none' })]
  const { port } = await startProxy(t, configurationOf({ backends, hosts }))
  const client = session(t, port)
  const missing = await ask(client, { ':path': '/', ':authority': 'other' })
  assert.equal(missing.headers[':status'], 404)
  const large = await ask(
    client,
    { ':method': 'POST', ':path': '/', ':authority': 'a' },
    Buffer.alloc(300_000),
  )
  assert.equal(large.headers[':status'], 413)
})

test('gRPC: streams and trailers pass between HTTP/2 clients and backends', async t => {
  const server = createHttp2Server()
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    if (headers[':path'] === '/only-trailers') {
      stream.respond({ ':status': 200, 'grpc-status': '5' }, { endStream: true })
      return
    }
    stream.respond(
      { ':status': 200, 'content-type': 'application/grpc', 'x-te': headers.te },
      { waitForTrailers: true },
    )
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0', 'grpc-message': 'fine' }))
    stream.pipe(stream)
  })
  const backend = await listen(t, server)
  const backends = [backendAt([backend], { protocol: 'http2' })]
  const { port } = await startProxy(t, configurationOf({ backends }))
  const client = session(t, port)
  const call = { ':method': 'POST', ':path': '/echo', ':authority': 'a', 'te': 'trailers' }
  const message = randomBytes(100_000)
  const answers = await Promise.all(Array.from({ length: 60 }, () => ask(client, call, message)))
  for (const { headers, body, trailers } of answers) {
    assert.equal(headers['x-te'], 'trailers')
    assert.ok(body.equals(message))
    assert.equal(trailers['grpc-status'], '0')
    assert.equal(trailers['grpc-message'], 'fine')
  }
  const only = await ask(client, { ...call, ':path': '/only-trailers' }, Buffer.from('x'))
  assert.equal(only.headers['grpc-status'], '5')
  // A message on an open stream is answered before the client ends it.
  const stream = client.request(call)
  stream.write('ping')
  assert.equal(String((await once(stream, 'data'))[0]), 'ping')
  stream.close()
})

test('HTTP/1.1 clients reach HTTP/2 backends', async t => {
  const server = createHttp2Server()
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    stream.respond({ ':status': 200, 'x-path': headers[':path'] })
    stream.end('ok')
  })
  const backends = [backendAt([await listen(t, server)], { protocol: 'http2' })]
  const { port } = await startProxy(t, configurationOf({ backends }))
  for (let count = 0; count < 3; count++) {
    const answer = await exchangeRaw(port, 'GET /p HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    assert.match(answer, /^HTTP\/1.1 200 OK\r\n[^]*x-path: \/p\r\n[^]*ok/)
  }
})

test('backends with TLS are verified by the given authority and name', async t => {
  const { cert, key } = selfSigned('backend.example.com')
  const http1 = createHttpsServer({ cert, key }, (_request, response) => void response.end('over TLS'))
  const http2 = createSecureServer({ cert, key }, (_request, response) => void response.end('over TLS'))
  const ports = { https1: await listen(t, http1), https2: await listen(t, http2) }
  for (const protocol of ['https1', 'https2'] as const) {
    const tls = { serverName: 'backend.example.com', ca: cert }
    const statusWith = async (changes: {
      readonly serverName?: string
      readonly ca?: string | undefined
    }) => {
      const backends = [backendAt([ports[protocol]], { protocol, tls: { ...tls, ...changes } })]
      const { port } = await startProxy(t, configurationOf({ backends }))
      return (await exchangeRaw(port, 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')).slice(9, 12)
    }
    assert.equal(await statusWith({}), '200', protocol)
    assert.equal(await statusWith({ ca: undefined }), '200', protocol)
    assert.equal(await statusWith({ serverName: 'other.example.com' }), '502', protocol)
    assert.equal(await statusWith({ ca: selfSigned('other').cert }), '502', protocol)
  }
})

test('repeated fields pass between versions, and none of them ends the process', async t => {
  const server = createHttp2Server({ strictSingleValueFields: false })
  server.on('stream', (stream: ServerHttp2Stream, ...[, , raw]) => {
    const types = raw.filter((_value, index) => raw[index - 1] === 'content-type')
    stream.respond({ ':status': 200, 'x-types': types.join() }, { endStream: true })
  })
  const single = await startRawBackend(t, socket => {
    const fields = 'etag: 1\r\netag: 2\r\nset-cookie: a\r\nset-cookie: b\r\ncontent-length: 0\r\n'
    socket.on('data', () => socket.write(`HTTP/1.1 200 OK\r\n${fields}\r\n`))
  })
  const backends = [
    backendAt([await listen(t, server)], { id: 'h2', protocol: 'http2' }),
    backendAt([single], { id: 'h1' }),
  ]
  const hosts = ['h2', 'h1'].map(
    id => ({ hostname: id, wildcard: 'one-label', routes: [routeTo(id)] }) as const,
  )
  const { port } = await startProxy(t, configurationOf({ backends, hosts }))
  const fields = 'Content-Type: a\r\nContent-Type: b\r\n'
  const answer = await exchangeRaw(port, `GET / HTTP/1.1\r\nHost: h2\r\n${fields}Connection: close\r\n\r\n`)
  assert.match(answer, /^HTTP\/1.1 200 [^]*x-types: a,b\r\n/)
  const { headers } = await ask(session(t, port), { ':path': '/', ':authority': 'h1' })
  assert.equal(headers[':status'], 200)
  assert.deepEqual(headers['set-cookie'], ['a', 'b'])
})

test('damaged HTTP/2 frames close only their own connection', async t => {
  const backend = await startBackend(t, (_request, response) => void response.end('ok'))
  const { port } = await startProxy(t, configurationOf({ backends: [backendAt([backend])] }))
  const good = session(t, port)
  const random = new SeededRandom('frames')
  for (let round = 0; round < 10; round++) {
    const clients = Array.from({ length: 20 }, () => {
      const client = new RawClient(port)
      client.send('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
      // SETTINGS, then frames of any type with few bytes.
      client.send('\0\0\0\x04\0\0\0\0\0')
      for (let frames = 0; frames < 5; frames++) {
        const length = random.integer(40)
        const head = [0, 0, length, random.integer(12), random.integer(256), 0, 0, 0, random.integer(6)]
        client.send(Buffer.from([...head, ...random.bytes(length)]).toString('latin1'))
      }
      return client
    })
    assert.equal((await ask(good, { ':path': '/', ':authority': 'a' })).body.toString(), 'ok')
    for (const client of clients) client.socket.destroy()
  }
})

async function handshake(port: number, servername?: string): Promise<TLSSocket> {
  const socket = connectTls({
    port,
    host: loopback,
    rejectUnauthorized: false,
    ...(servername !== undefined && { servername }),
  })
  socket.on('error', () => undefined)
  await once(socket, 'secureConnect')
  return socket
}

test('certificates are chosen by SNI and replaced without closing connections', async t => {
  const backend = await startBackend(
    t,
    (request, response) => void response.end(request.headers['x-forwarded-proto']),
  )
  const hostnames = ['a.example.com', '*.example.org']
  const named = { hostnames, ...selfSigned('named') }
  const usual = { hostnames: [], ...selfSigned('default') }
  const backends = [backendAt([backend])]
  const first = configurationOf({ backends, listener: { protocol: 'tls', certificates: [named, usual] } })
  const { port, proxy } = await startProxy(t, first)
  const nameFor = async (servername?: string): Promise<unknown> => {
    const socket = await handshake(port, servername)
    const { CN } = socket.getPeerCertificate().subject
    socket.destroy()
    return CN
  }
  assert.equal(await nameFor('a.example.com'), 'named')
  assert.equal(await nameFor('x.example.org'), 'named')
  assert.equal(await nameFor('x.y.example.org'), 'default')
  assert.equal(await nameFor(), 'default')
  const kept = session(t, port, { servername: 'a.example.com' })
  assert.equal((await ask(kept, { ':path': '/', ':authority': 'a' })).body.toString(), 'https')
  const renewed = { hostnames, ...selfSigned('renewed') }
  const broken = { hostnames: ['broken'], cert: usual.cert, key: named.key }
  await proxy.apply(
    configurationOf({ backends, listener: { protocol: 'tls', certificates: [renewed, broken, usual] } }),
  )
  assert.equal(await nameFor('a.example.com'), 'renewed')
  assert.equal(await nameFor('broken'), 'default')
  assert.equal((await ask(kept, { ':path': '/', ':authority': 'a' })).headers[':status'], 200)
  assert.match(proxy.metrics.registry.render(), /ssl_expire_time_seconds\{host="a.example.com"\} \d/)
  await proxy.apply(configurationOf({ backends, listener: { protocol: 'tls', certificates: [renewed] } }))
  await assert.rejects(async () => {
    const socket = connectTls({ port, host: loopback, rejectUnauthorized: false, servername: 'unknown' })
    await once(socket, 'secureConnect')
  })
})

test('a passed-through connection reaches the backend of its server name undecrypted', async t => {
  const { cert, key } = selfSigned('inner.example.com')
  const server = createHttpsServer({ cert, key }, (_request, response) => void response.end('inner'))
  const backends = [backendAt([await listen(t, server)])]
  const routes = [routeTo('default/web:80')]
  const hosts = [{ hostname: '*.example.com', wildcard: 'any-labels', routes }] as const
  const { port } = await startProxy(
    t,
    configurationOf({ backends, hosts, listener: { protocol: 'passthrough' } }),
  )
  const socket = await handshake(port, 'inner.example.com')
  assert.equal(socket.getPeerCertificate().subject.CN, 'inner.example.com')
  socket.write('GET / HTTP/1.1\r\nHost: inner.example.com\r\n\r\n')
  assert.match(String((await once(socket, 'data'))[0]), /^HTTP\/1.1 200/)
  socket.destroy()
  await assert.rejects(handshakeOrClose(port, 'other.example.org'))
  assert.equal(await exchangeRaw(port, 'GET / HTTP/1.1\r\n\r\n'), '')
})

async function handshakeOrClose(port: number, servername: string): Promise<void> {
  const socket = connectTls({ port, host: loopback, rejectUnauthorized: false, servername })
  await once(socket, 'secureConnect')
}

test('an endpoint that leaves finishes its requests and gets no more; listeners come and go', async t => {
  const release = Promise.withResolvers<void>()
  let isHeld = false
  const old = await startBackend(t, (_request, response) => {
    isHeld = true
    void release.promise.then(() => response.end('old'))
  })
  const fresh = await startBackend(t, (_request, response) => void response.end('fresh'))
  const { port, proxy } = await startProxy(t, configurationOf({ backends: [backendAt([old])] }))
  const held = exchangeRaw(port, 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  await waitUntil(() => isHeld)
  const kept = new RawClient(port)
  const second = { id: 'second', port: 0, host: '127.0.0.3' }
  const next = configurationOf({ backends: [backendAt([fresh])] })
  const more = configurationOf({ backends: [], listener: second })
  await proxy.apply({ ...next, listeners: [...next.listeners, ...more.listeners] })
  kept.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await kept.until('fresh')
  release.resolve()
  assert.match(await held, /old$/)
  assert.equal(proxy.listeners.length, 2)
  await proxy.apply(next)
  assert.deepEqual(
    proxy.listeners.map(({ id }) => id),
    ['test'],
  )
  kept.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await kept.until('fresh')
  await proxy.drain(10_000)
  assert.equal(proxy.connectionCount, 0)
  await waitUntil(() => kept.socket.closed)
})
