import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  connect,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type OutgoingHttpHeaders,
} from 'node:http2'
import { request as httpsRequest, type RequestOptions } from 'node:https'
import { after, test, type TestContext } from 'node:test'
import { gunzipSync } from 'node:zlib'
import type { ApiRequest, ApiResponse, PieceBatch, StreamChunk } from '#/api/transport.ts'
import { Server } from '#/apiserver/server.ts'
import type { HttpLimits } from '#/platform/http.ts'
import { nodePlatform, serveHttp } from '#/platform/node.ts'
import type { Platform } from '#/platform/platform.ts'
import { waitUntil, waitUntilStable } from '../wait-until.ts'
import { testCertificates } from './test-certificates.ts'

const certificates = await testCertificates({ after } as Pick<TestContext, 'after'>)

/** The server's log output. */
const logged: string[] = []
const silent = (): void => undefined
const error = (message: string): void => void logged.push(message)
const platform: Platform = {
  ...nodePlatform({ log: { level: 'error', format: 'text' } }),
  log: { debug: silent, info: silent, warn: silent, error, with: () => platform.log },
}

type Handle = (request: ApiRequest) => Promise<ApiResponse>

async function start(t: TestContext, handle: Handle, limits: Partial<HttpLimits> = {}): Promise<Server> {
  const tls = { ...certificates.server, clientCa: certificates.ca }
  const server = await Server.start({ platform, serveHttp, host: '127.0.0.1', port: 0, tls, handle, limits })
  t.after(() => server.stop(0))
  return server
}

function text(content: string | Buffer, further: Partial<ApiResponse> = {}): ApiResponse {
  const bytes = (): Uint8Array[] => [Buffer.from(content)]
  return { status: 200, body: { type: 'value', mediaType: 'text/plain', value: content, bytes }, ...further }
}

function session(t: TestContext, { address }: Server, options: object = {}): ClientHttp2Session {
  const { ca } = certificates
  const client = connect(`https://127.0.0.1:${address.port}`, {
    ca,
    maxSessionMemory: clientMemoryMax,
    ...options,
  })
  client.on('error', silent)
  t.after(() => client.destroy())
  return client
}

/** In megabytes: the client's default limit is below the size of the bodies sent here. */
const clientMemoryMax = 200

interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
}

async function ask2(client: ClientHttp2Session, headers: OutgoingHttpHeaders, body?: Buffer): Promise<Reply> {
  const stream = client.request(headers, { endStream: body === undefined })
  stream.on('error', silent)
  if (body !== undefined) stream.end(body)
  const [head] = await once(stream, 'response')
  const received = await stream.toArray()
  return { status: head[':status'], headers: head, body: Buffer.concat(received) }
}

async function ask1({ address }: Server, options: RequestOptions = {}, body?: Buffer): Promise<Reply> {
  const request = httpsRequest({
    host: '127.0.0.1',
    port: address.port,
    ca: certificates.ca,
    agent: false,
    ...options,
  })
  request.on('error', silent)
  request.end(body)
  const [response] = await once(request, 'response')
  return {
    status: response.statusCode,
    headers: response.headers,
    body: Buffer.concat(await response.toArray()),
  }
}

interface Question {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: Buffer
}

/** Sends the same request over both protocols. */
async function askBoth(
  t: TestContext,
  server: Server,
  path: string,
  options: Question = {},
): Promise<Reply[]> {
  const { method = 'GET', headers = {}, body } = options
  const second = await ask2(session(t, server), { ':path': path, ':method': method, ...headers }, body)
  return [second, await ask1(server, { path, method, headers }, body)]
}

test('a request has its path, query, headers, body and peer', async t => {
  const server = await start(t, async ({ method, path, query, headers, body, peer }) => {
    const bytes = Buffer.from(await body.bytes(1_000)).toString()
    const who = [peer.address, peer.certificate?.commonName, peer.certificate?.organizations]
    return text(JSON.stringify([method, path, [...query], headers['x-some'], bytes, ...who]))
  })
  const pair = await certificates.client('alice', ['dev'])
  const target = '/api/v1/pods%2Fx?labelSelector=a%3Db&watch&a=1&a=2'
  const expected = [
    'POST',
    '/api/v1/pods%2Fx',
    [
      ['labelSelector', 'a=b'],
      ['watch', ''],
      ['a', '1'],
      ['a', '2'],
    ],
    'Value',
    'hello',
    '127.0.0.1',
    'alice',
    ['dev'],
  ]
  const body = Buffer.from('hello')
  const client = session(t, server, pair)
  const second = await ask2(client, { ':path': target, ':method': 'POST', 'x-some': 'Value' }, body)
  assert.deepEqual(JSON.parse(second.body.toString()), expected)
  const first = await ask1(
    server,
    { path: target, method: 'POST', headers: { 'X-Some': 'Value' }, ...pair },
    body,
  )
  assert.deepEqual(JSON.parse(first.body.toString()), expected)
  const proxied = await ask1(server, { path: 'https://elsewhere/api?x=1' })
  assert.deepEqual(JSON.parse(proxied.body.toString()).slice(0, 3), ['GET', '/api', [['x', '1']]])
})

test('a response has content type, length, audit ID, warnings and no-cache headers', async t => {
  const server = await start(t, async ({ path }) => {
    const warning = ['299 - "a"', '299 - "b"']
    return path === '/empty' ? { status: 204 } : text('hello', { status: 201, headers: { warning } })
  })
  for (const { status, headers, body } of await askBoth(t, server, '/')) {
    assert.deepEqual([status, body.toString()], [201, 'hello'])
    assert.deepEqual([headers['content-type'], headers['content-length']], ['text/plain', '5'])
    assert.equal(headers['cache-control'], 'no-cache, private')
    assert.equal(headers['warning'], '299 - "a", 299 - "b"')
    assert.match(String(headers['audit-id']), /^[0-9a-f-]{36}$/)
  }
  for (const { headers } of await askBoth(t, server, '/', {
    headers: { 'audit-id': `mine${'x'.repeat(100)}` },
  })) {
    assert.equal(headers['audit-id'], `mine${'x'.repeat(60)}`)
  }
  for (const { status, headers } of await askBoth(t, server, '/empty')) {
    assert.deepEqual(
      [status, headers['content-length'], headers['content-type']],
      [204, undefined, undefined],
    )
  }
})

test('HEAD returns the headers of GET without a body', async t => {
  const server = await start(t, async ({ path }) => {
    return path === '/stream'
      ? streaming(async function* () {
          yield ['x']
        })
      : text('x'.repeat(Number(path.slice(1))))
  })
  for (const length of ['5', '300000']) {
    for (const { status, headers, body } of await askBoth(t, server, `/${length}`, { method: 'HEAD' })) {
      assert.deepEqual([status, headers['content-length'], body.length], [200, length, 0])
    }
  }
  for (const { status, body } of await askBoth(t, server, '/stream', { method: 'HEAD' })) {
    assert.deepEqual([status, body.length], [200, 0])
  }
})

test('responses over 128 KiB are compressed for clients that accept gzip only', async t => {
  const server = await start(t, async ({ path }) => text(Buffer.alloc(Number(path.slice(1)), 'kubernetes ')))
  const check = async (sizeBytes: number, accept: string, isCompressed: boolean): Promise<void> => {
    const question = { headers: { 'accept-encoding': accept } }
    for (const { headers, body } of await askBoth(t, server, `/${sizeBytes}`, question)) {
      assert.equal(headers['content-encoding'], isCompressed ? 'gzip' : undefined, `${sizeBytes} ${accept}`)
      assert.equal(headers['vary'], isCompressed ? 'Accept-Encoding' : undefined)
      const whole = isCompressed ? gunzipSync(body) : body
      assert.ok(whole.equals(Buffer.alloc(sizeBytes, 'kubernetes ')))
      assert.ok(!isCompressed || body.length < sizeBytes / 10)
    }
  }
  await check(131_072, 'gzip', false)
  await check(131_073, 'gzip', true)
  await check(5_000_000, 'deflate, gzip, br', true)
  await check(1_000_000, 'deflate, br', false)
  await check(1_000_000, 'identity', false)
})

test('a body of many pieces of any size is sent in order, compressed or not', async t => {
  const sizes = [0, 1, 200_000, ...Array.from({ length: 3_000 }, (_, index) => index % 500), 65_536, 7]
  const pieces = sizes.map((size, index) => Buffer.alloc(size, `${index},`))
  const server = await start(t, async () => {
    return { status: 200, body: { type: 'value', mediaType: 'text/plain', value: '', bytes: () => pieces } }
  })
  for (const accept of ['gzip', 'identity']) {
    for (const { headers, body } of await askBoth(t, server, '/', {
      headers: { 'accept-encoding': accept },
    })) {
      const whole = headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body
      assert.ok(whole.equals(Buffer.concat(pieces)), accept)
    }
  }
})

test('large responses in progress at once do not mix, also if a client leaves', async t => {
  const texts = Array.from({ length: 24 }, (_, index) => `${index}.`.repeat(20_000))
  const server = await start(t, async ({ path }) => {
    const item = texts[Number(path.slice(1))] ?? ''
    // Batches of several pieces are joined in buffers that are used again.
    const pieces = [Buffer.from(item), '|', Buffer.from(item), '|']
    const sizeBytes = pieces.reduce((sum, piece) => sum + piece.length, 0)
    async function* batches(): AsyncGenerator<PieceBatch, void, undefined> {
      for (let count = 0; count < 10; count++) yield { pieces, sizeBytes }
    }
    return {
      status: 200,
      body: { type: 'value', mediaType: 'text/plain', value: '', bytes: () => [], batches },
    }
  })
  const client = session(t, server)
  const leave = async (index: number): Promise<void> => {
    const stream = client.request({ ':path': `/${index}` })
    stream.on('error', silent)
    await once(stream, 'data')
    stream.close()
  }
  const check = async (index: number, reply: Promise<Reply>): Promise<void> => {
    const { body } = await reply
    assert.ok(body.equals(Buffer.from(`${texts[index]}|${texts[index]}|`.repeat(10))), `response ${index}`)
  }
  await Promise.all(
    texts.map((_, index) => {
      if (index % 4 === 0) return leave(index)
      if (index % 4 === 1) return check(index, ask1(server, { path: `/${index}` }))
      return check(index, ask2(client, { ':path': `/${index}` }))
    }),
  )
})

test('a client that leaves during compression does not affect others', async t => {
  const pieces = Array.from({ length: 2_000 }, () => randomBytes(5_000))
  const server = await start(t, async () => {
    return { status: 200, body: { type: 'value', mediaType: 'text/plain', value: '', bytes: () => pieces } }
  })
  const headers = { ':path': '/', 'accept-encoding': 'gzip' }
  const client = session(t, server)
  for (let round = 0; round < 5; round++) {
    const left = client.request(headers)
    left.on('error', silent)
    await once(left, 'data')
    left.close()
  }
  const { body } = await ask2(session(t, server), headers)
  assert.ok(gunzipSync(body).equals(Buffer.concat(pieces)))
})

test('a body of 50 MB is rejected with a Status while other requests are served', async t => {
  const server = await start(t, async ({ method, body }) => {
    if (method === 'GET') return text('served')
    try {
      return text(String((await body.bytes(3 * 1024 * 1024)).length))
    } catch (error) {
      return text(JSON.stringify((error as { status: object }).status), {
        status: (error as { code: number }).code,
      })
    }
  })
  const replies = askBoth(t, server, '/', { method: 'POST', body: Buffer.alloc(50_000_000) })
  assert.equal((await ask1(server)).body.toString(), 'served')
  for (const { status, body } of await replies) {
    const { message, reason, code } = JSON.parse(body.toString())
    assert.deepEqual([status, code, reason], [413, 413, 'RequestEntityTooLarge'])
    assert.equal(message, 'Request entity too large: limit is 3145728')
  }
})

test('an internal error is returned as a general Status and logged with its details', async t => {
  const failures: Record<string, Handle> = {
    '/handler': () => Promise.reject(new Error('the password is hunter2')),
    '/bytes': async () => {
      const bytes = (): never => {
        throw new Error('the password is hunter2')
      }
      return { status: 200, body: { type: 'value', mediaType: 'text/plain', value: '', bytes } }
    },
    '/header': async () => text('x', { headers: { 'x-bad': 'a\r\nset-cookie: hunter2' } }),
  }
  const server = await start(t, async request => failures[request.path]!(request))
  for (const path of Object.keys(failures)) {
    logged.length = 0
    for (const { status, body } of await askBoth(t, server, path)) {
      const { kind, reason, message } = JSON.parse(body.toString())
      assert.deepEqual([status, kind, reason], [500, 'Status', 'InternalError'], path)
      assert.doesNotMatch(message, /hunter2/)
    }
    assert.deepEqual(logged, ['failed to send response', 'failed to send response'])
  }
})

/** A streaming response; the server receives the texts in batches. */
function streaming(batches: () => AsyncIterable<readonly string[]>): ApiResponse {
  const chunks = async function* (): AsyncGenerator<readonly StreamChunk[]> {
    for await (const batch of batches())
      yield batch.map(value => ({ value, bytes: () => Buffer.from(value) }))
  }
  return { status: 200, body: { type: 'stream', mediaType: 'application/json', chunks: chunks() } }
}

/** Resolves when it is aborted. */
function aborted(signal: AbortSignal): Promise<unknown> {
  return signal.aborted ? Promise.resolve() : once(signal, 'abort')
}

test('stream chunks are sent as they come, the header before the first chunk', async t => {
  const { promise: told, resolve: tell } = Promise.withResolvers<void>()
  const server = await start(t, async () =>
    streaming(async function* () {
      await told
      yield ['a', 'b']
      yield ['c']
    }),
  )
  const stream = session(t, server).request({ ':path': '/' })
  await once(stream, 'response')
  tell()
  assert.equal((await stream.setEncoding('utf8').toArray()).join(''), 'abc')
  assert.equal((await ask1(server)).body.toString(), 'abc')
})

test('a failing stream is reset', async t => {
  const server = await start(t, async () =>
    streaming(async function* () {
      yield ['a']
      throw new Error('lost')
    }),
  )
  const stream = session(t, server).request({ ':path': '/' })
  const [error] = await once(stream.resume(), 'error')
  assert.match(error.message, /INTERNAL_ERROR/)
  await assert.rejects(ask1(server), /aborted|socket hang up/)
})

test('the signal of a request is aborted when the client disconnects', async t => {
  let seen = 0
  const server = await start(t, async ({ signal }) => {
    seen += 1
    await aborted(signal)
    seen += 10
    return text('nobody reads this')
  })
  const client = session(t, server)
  const cancelled = client.request({ ':path': '/' })
  await waitUntil(() => seen === 1)
  cancelled.close(8)
  await waitUntil(() => seen === 11)
  client.request({ ':path': '/' }).on('error', silent)
  await waitUntil(() => seen === 12)
  client.destroy()
  await waitUntil(() => seen === 22)
})

test('stopping the server ends streams cleanly and waits for running requests', async t => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  let isReleased = false
  let arrived = 0
  const server = await start(t, async ({ path, signal }) => {
    arrived++
    if (path === '/slow') {
      await released
      return text(`done ${signal.aborted}`)
    }
    return streaming(async function* () {
      yield ['first']
      await aborted(signal)
      yield ['last']
    })
  })
  const client = session(t, server)
  const slow = ask2(client, { ':path': '/slow' })
  const streams = Array.from({ length: 20 }, () => readStream(client.request({ ':path': '/watch' })))
  const first = ask1(server, { path: '/watch' })
  await waitUntil(() => arrived === 2 + streams.length)
  const stopped = server.stop(5_000).then(() => isReleased)
  assert.deepEqual(
    await Promise.all(streams),
    streams.map(() => 'firstlast'),
  )
  assert.equal((await first).body.toString(), 'firstlast')
  isReleased = true
  release()
  assert.equal((await slow).body.toString(), 'done false')
  assert.equal(await stopped, true)
  await assert.rejects(ask1(server), /./)
})

/** The text of a stream that ends normally; rejects when it is reset. */
async function readStream(stream: ClientHttp2Stream): Promise<string> {
  return (await stream.setEncoding('utf8').toArray()).join('')
}

test('a slow reader holds back its own stream only', async t => {
  let made = 0
  let isEnded = false
  const server = await start(
    t,
    async ({ path }) => {
      if (path !== '/endless') return text('served')
      const chunk = 'x'.repeat(64 * 1024)
      return streaming(async function* () {
        try {
          for (; ; made += 1) yield [chunk]
        } finally {
          isEnded = true
        }
      })
    },
    { stallTimeoutMs: 200 },
  )
  const stream = session(t, server).request({ ':path': '/endless' })
  // The server may end the stream at any time from now on.
  const failed = once(stream, 'error')
  await once(stream, 'response')
  await waitUntilStable(() => made)
  assert.ok(made < 50, `${made} chunks were made for a client that reads nothing`)
  assert.equal((await ask1(server)).body.toString(), 'served')
  const [error] = await failed
  assert.match(error.message, /INTERNAL_ERROR/)
  await waitUntil(() => isEnded)
})
