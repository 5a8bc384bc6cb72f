import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  connect as connectHttp2,
  constants,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type OutgoingHttpHeaders,
} from 'node:http2'
import { request as httpsRequest, Agent, type RequestOptions } from 'node:https'
import { connect as connectTcp, type Socket } from 'node:net'
import { after, test, type TestContext } from 'node:test'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { testCertificates } from '../../../tests/http/test-certificates.ts'
import { waitUntil } from '../../../tests/wait-until.ts'
import type { HttpBodyError, HttpExchange, HttpLimits, HttpRejection, HttpServer } from '../http.ts'
import { connectHttp } from './http-client.ts'
import { serveHttp } from './http.ts'

const certificates = await testCertificates({ after } as Pick<TestContext, 'after'>)

interface Started {
  readonly server: HttpServer
  readonly port: number
  readonly rejected: HttpRejection[]
}

type Answer = (exchange: HttpExchange) => void | Promise<void>

async function start(t: TestContext, answer: Answer, limits: Partial<HttpLimits> = {}): Promise<Started> {
  const rejected: HttpRejection[] = []
  const server = await serveHttp({
    host: '127.0.0.1',
    port: 0,
    tls: { ...certificates.server, clientCa: certificates.ca },
    limits,
    onExchange: exchange => void answer(exchange),
    onRejected: reason => rejected.push(reason),
  })
  t.after(() => server.stop(0))
  return { server, port: server.address.port, rejected }
}

function hello(exchange: HttpExchange): void {
  exchange.respond(200, { 'content-type': 'text/plain' })
  exchange.end([Buffer.from(`hello ${exchange.target}`)])
}

function session(t: TestContext, port: number, options: object = {}): ClientHttp2Session {
  const client = connectHttp2(`https://127.0.0.1:${port}`, { ca: certificates.ca, ...options })
  client.on('error', () => undefined)
  t.after(() => client.destroy())
  return client
}

interface Reply {
  readonly status: number
  readonly text: string
}

async function ask2(
  client: ClientHttp2Session,
  headers: OutgoingHttpHeaders = {},
  body?: Buffer,
): Promise<Reply> {
  const stream = client.request({ ':path': '/', ...headers }, { endStream: body === undefined })
  // A server that has responded need not read the rest of the body.
  stream.on('error', () => undefined)
  if (body !== undefined) stream.end(body)
  const [head] = (await once(stream, 'response')) as [{ ':status'?: number }]
  let text = ''
  for await (const chunk of stream.setEncoding('utf8')) text += chunk
  return { status: head[':status'] ?? 0, text }
}

async function ask1(port: number, options: RequestOptions = {}, body?: Buffer): Promise<Reply> {
  const request = httpsRequest({ host: '127.0.0.1', port, ca: certificates.ca, agent: false, ...options })
  request.on('error', () => undefined)
  request.end(body)
  const [response] = await once(request, 'response')
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) text += chunk
  return { status: response.statusCode, text }
}

async function tls(t: TestContext, port: number, options: object = {}): Promise<TLSSocket> {
  const socket = connectTls({ host: '127.0.0.1', port, ca: certificates.ca, ...options })
  socket.on('error', () => undefined)
  t.after(() => socket.destroy())
  await once(socket, 'secureConnect')
  return socket
}

/** Resolves when closed, with or without an error. */
async function closed(each: ClientHttp2Session | ClientHttp2Stream | TLSSocket | Socket): Promise<void> {
  each.on('error', () => undefined)
  if (!each.destroyed) await new Promise(resolve => each.once('close', resolve))
}

function reasonOf(error: HttpBodyError): string {
  return error.reason
}

/** A raw HTTP/2 frame, for behavior that Node's client does not have. */
function frame(type: number, flags: number, stream: number, payload = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

const [dataFrame, headersFrame, resetFrame, settingsFrame] = [0, 1, 3, 4]
const preface = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(settingsFrame, 0, 0)])
/** `POST https://x/`, encoded with HPACK. */
const postHeaders = Buffer.from([0x83, 0x84, 0x87, 0x41, 1, 'x'.charCodeAt(0)])

/** All bytes until the server closes the connection. */
async function readAll(socket: TLSSocket | Socket): Promise<string> {
  let text = ''
  socket.on('data', chunk => {
    text += chunk
  })
  await closed(socket)
  return text
}

test('one port serves HTTP/2 and HTTP/1.1, and HTTP/1.1 without ALPN', async t => {
  const { port } = await start(t, hello)
  assert.deepEqual(await ask2(session(t, port), { ':path': '/a?b=1' }), { status: 200, text: 'hello /a?b=1' })
  assert.deepEqual((await ask1(port, { path: '/c' })).text, 'hello /c')
  const bare = await tls(t, port)
  bare.write('GET /d HTTP/1.0\r\n\r\n')
  assert.match(await readAll(bare), /^HTTP\/1.1 200 OK\r\n[^]*hello \/d$/)
})

test('only a client certificate signed by the CA has a subject', async t => {
  const { port } = await start(t, exchange => {
    const { certificate, certificateError } = exchange.connection
    exchange.respond(200, {})
    const seen = [certificate?.commonName, certificate?.organizations, certificateError]
    exchange.end([Buffer.from(JSON.stringify(seen))])
  })
  const strangers = await testCertificates(t)
  const cases = [
    [{}, [null, null, null]],
    [await certificates.client('alice', ['dev', 'ops']), ['alice', ['dev', 'ops'], null]],
    [await certificates.client('bob'), ['bob', [], null]],
    [await strangers.client('alice', ['system:masters']), [null, null, 'UNABLE_TO_VERIFY_LEAF_SIGNATURE']],
    [certificates.server, [null, null, 'INVALID_PURPOSE']],
  ] as const
  for (const [pair, expected] of cases) {
    assert.deepEqual(JSON.parse((await ask2(session(t, port, pair))).text), expected)
    assert.deepEqual(JSON.parse((await ask1(port, pair)).text), expected)
  }
})

test('certificates and authorities are replaced while the server runs', async t => {
  const { server, port } = await start(t, exchange => {
    exchange.respond(200, {})
    exchange.end([Buffer.from(String(exchange.connection.certificate?.commonName))])
  })
  const others = await testCertificates(t)
  const alice = session(t, port, await certificates.client('alice'))
  const nobody = session(t, port)
  assert.equal((await ask2(alice)).text, 'alice')
  assert.equal((await ask2(nobody)).text, 'undefined')
  server.setTls({ ...others.server, clientCa: others.ca })
  await closed(alice)
  assert.equal((await ask2(nobody)).text, 'undefined')
  const again = { ...(await certificates.client('alice')), ca: others.ca }
  assert.equal((await ask2(session(t, port, again))).text, 'undefined')
  assert.equal((await ask2(session(t, port, { ...(await others.client('bob')), ca: others.ca }))).text, 'bob')
})

test('old TLS, plain HTTP, garbage and disconnects are counted and closed without affecting other clients', async t => {
  const { port, rejected } = await start(t, hello)
  const oldVersions = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' } as const
  await once(connectTls({ host: '127.0.0.1', port, ca: certificates.ca, ...oldVersions }), 'error')
  const nonsense = '\0\x01\x02 nonsense'.repeat(100)
  for (const text of ['GET / HTTP/1.1\r\nhost: x\r\n\r\n', nonsense, '\x16\x03\x01\x02\x00\x01\x00\x01']) {
    const socket = connectTcp(port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.end(text, 'latin1')
    await readAll(socket)
  }
  const rude = connectTcp(port, '127.0.0.1', () => rude.resetAndDestroy())
  const garbage = await tls(t, port, { ALPNProtocols: ['h2'] })
  garbage.write(nonsense)
  await readAll(garbage)
  const malformed = await tls(t, port)
  malformed.write('NONSENSE\r\n\r\n')
  assert.match(await readAll(malformed), /^HTTP\/1.1 400 Bad Request\r\n/)
  assert.equal((await ask2(session(t, port))).status, 200)
  assert.ok(rejected.filter(reason => reason === 'tls').length >= 4, String(rejected))
  assert.equal(rejected.filter(reason => reason === 'malformed').length, 2)
})

test('headers that are too large or too many are refused in both protocols', async t => {
  const { port, rejected } = await start(t, hello, { headerBytesMax: 8_192, headersMax: 50 })
  assert.equal((await ask1(port, { headers: { large: 'x'.repeat(9_000) } })).status, 431)
  const many = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`name-${index}`, 'x']))
  assert.equal((await ask1(port, { headers: many })).status, 431)
  assert.equal((await ask2(session(t, port), { large: 'x'.repeat(9_000) })).status, 431)
  const settled = session(t, port)
  await ask2(settled)
  for (const headers of [{ large: 'x'.repeat(9_000) }, many]) {
    assert.equal((await ask2(settled, headers)).status, 431)
  }
  await assert.rejects(ask2(settled, { huge: 'x'.repeat(20_000) }), /ENHANCE_YOUR_CALM/)
  assert.equal((await ask1(port, { headers: { fine: 'x'.repeat(4_000) } })).status, 200)
  assert.deepEqual(rejected, ['headers', 'headers', 'headers', 'headers', 'headers'])
})

test('slow TLS handshakes, first requests and headers time out', async t => {
  const { server, port, rejected } = await start(t, hello, { headerTimeoutMs: 1_000 })
  const silent = connectTcp(port, '127.0.0.1')
  const quiet1 = await tls(t, port)
  const quiet2 = await tls(t, port, { ALPNProtocols: ['h2'] })
  const slow = await tls(t, port)
  slow.write('GET / HTTP/1.1\r\n')
  const drip = setInterval(() => slow.write('a: b\r\n'), 10)
  t.after(() => clearInterval(drip))
  const unsettled = await tls(t, port, { ALPNProtocols: ['h2'] })
  unsettled.write(preface)
  unsettled.write(frame(headersFrame, 5, 1, postHeaders))
  await Promise.all([silent, quiet1, quiet2, slow, unsettled].map(readAll))
  clearInterval(drip)
  assert.deepEqual(rejected.sort(), ['slow-request', 'slow-request', 'slow-request', 'slow-request', 'tls'])
  await waitUntil(() => server.connectionCount === 0)
})

test('an idle connection is closed, one with an open request is not', async t => {
  const { port } = await start(
    t,
    exchange => {
      exchange.respond(200, {})
      if (exchange.target === '/') exchange.end()
    },
    { idleTimeoutMs: 500 },
  )
  const agent = new Agent({ keepAlive: true })
  t.after(() => agent.destroy())
  const busy = session(t, port)
  const open = busy.request({ ':path': '/open' })
  await once(open, 'response')
  const idle = session(t, port)
  await ask2(idle)
  const { status } = await ask1(port, { agent })
  assert.equal(status, 200)
  await closed(idle)
  assert.equal(busy.destroyed, false)
  open.close()
  await closed(busy)
})

test('a body over the limit is rejected with a readable response in both protocols', async t => {
  const { port } = await start(t, async exchange => {
    const outcome = await exchange.readBody(1_000).then(body => `${body.length}`, reasonOf)
    exchange.respond(outcome === 'too-large' ? 413 : 200, {})
    exchange.end([Buffer.from(outcome)])
  })
  const large = Buffer.alloc(5_000_000)
  const client = session(t, port)
  for (const [headers, body, expected] of [
    [{}, undefined, { status: 200, text: '0' }],
    [{}, Buffer.alloc(1_000), { status: 200, text: '1000' }],
    [{ 'content-length': large.length }, large, { status: 413, text: 'too-large' }],
    [{}, large, { status: 413, text: 'too-large' }],
  ] as const) {
    assert.deepEqual(await ask2(client, { ':method': 'POST', ...headers }, body), expected)
    assert.deepEqual(await ask1(port, { method: 'POST', headers }, body), expected)
  }
})

test('a body that is slow, interrupted or shorter than declared is an error', async t => {
  const outcomes: string[] = []
  const answer = async (exchange: HttpExchange): Promise<void> => {
    outcomes.push(await exchange.readBody(1_000).then(() => 'whole', reasonOf))
    exchange.respond(400, {})
    exchange.end()
  }
  const impatient = await start(t, answer, { bodyTimeoutMs: 60 })
  const { port, rejected } = await start(t, answer)
  const slow = session(t, impatient.port).request({ ':method': 'POST' })
  slow.write('x')
  await once(slow, 'response')
  for (const [code] of [[constants.NGHTTP2_NO_ERROR], [constants.NGHTTP2_CANCEL]] as const) {
    const socket = await tls(t, port, { ALPNProtocols: ['h2'] })
    socket.write(Buffer.concat([preface, frame(headersFrame, 4, 1, postHeaders)]))
    socket.write(frame(dataFrame, 0, 1, Buffer.from('x')))
    await once(socket, 'data')
    socket.write(frame(resetFrame, 0, 1, Buffer.from([0, 0, 0, code])))
    await waitUntil(() => outcomes.length === (code === constants.NGHTTP2_NO_ERROR ? 2 : 3))
  }
  const short = await tls(t, port)
  short.end('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nx')
  await readAll(short)
  assert.deepEqual(outcomes, ['too-slow', 'aborted', 'aborted', 'aborted'])
  assert.deepEqual(impatient.rejected, ['slow-request'])
  assert.equal(rejected.includes('slow-request'), false)
})

test('request bodies are streamed with backpressure in both protocols', async t => {
  let take = (): void => undefined
  const { port, rejected } = await start(
    t,
    async exchange => {
      let sizeBytes = 0
      exchange.respond(200, {})
      try {
        for await (const piece of exchange.body()) {
          if (sizeBytes === 0) exchange.write([Buffer.from('begun ')])
          sizeBytes += piece.length
          if (exchange.target === '/held' && sizeBytes === piece.length)
            await new Promise<void>(resolve => (take = resolve))
        }
        exchange.end([Buffer.from(String(sizeBytes))])
      } catch {
        exchange.end()
      }
    },
    { bodyTimeoutMs: 2_000, headerTimeoutMs: 1_000 },
  )
  const body = Buffer.alloc(3_000_000)
  assert.equal((await ask2(session(t, port), { ':method': 'POST' }, body)).text, 'begun 3000000')
  assert.equal((await ask1(port, { method: 'POST' }, body)).text, 'begun 3000000')
  assert.equal((await ask2(session(t, port))).text, '0')
  assert.equal((await ask1(port)).text, '0')
  const held = session(t, port, { maxSessionMemory: 100 }).request({ ':path': '/held', ':method': 'POST' })
  held.end(Buffer.alloc(20_000_000))
  await once(held, 'data')
  const dripping = await tls(t, port)
  dripping.write('POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n')
  const answer = readAll(dripping)
  // The timeout applies to a body that stops. When one that began later has timed out, it applies neither to a
  // body that the handler does not read nor to one that takes long as a whole.
  const stopped = session(t, port).request({ ':method': 'POST' })
  stopped.on('error', () => undefined).write('x')
  let drops = 0
  await waitUntil(() => {
    dripping.write('1\r\nx\r\n')
    drops++
    return rejected.length > 0
  })
  assert.deepEqual(rejected, ['slow-request'])
  assert.ok(held.bufferSize > 10_000_000, `${held.bufferSize} bytes are left`)
  take()
  assert.equal(String(await once(held, 'data')), '20000000')
  dripping.write('0\r\n\r\n')
  const text = await answer
  assert.ok(text.includes('begun') && text.includes(String(drops)), text)
})

test('a streamed body that is slow or interrupted is an error', async t => {
  const outcomes: string[] = []
  const answer = async (exchange: HttpExchange): Promise<void> => {
    let outcome = 'whole'
    try {
      for await (const piece of exchange.body()) if (piece[0] === 'q'.charCodeAt(0)) break
    } catch (error) {
      outcome = reasonOf(error as HttpBodyError)
    }
    outcomes.push(outcome)
    exchange.respond(400, {})
    exchange.end()
  }
  const impatient = await start(t, answer, { bodyTimeoutMs: 100 })
  const { port, rejected } = await start(t, answer)
  const slow = session(t, impatient.port).request({ ':method': 'POST' })
  slow.write('x')
  await once(slow, 'response')
  const slow1 = await tls(t, impatient.port)
  slow1.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nx')
  assert.match(await readAll(slow1), /^HTTP\/1.1 400/)
  const short = await tls(t, port)
  short.end('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nx')
  await readAll(short)
  const given = await tls(t, port, { ALPNProtocols: ['h2'] })
  given.write(Buffer.concat([preface, frame(headersFrame, 4, 1, postHeaders)]))
  given.write(frame(dataFrame, 0, 1, Buffer.from('x')))
  await once(given, 'data')
  given.write(frame(resetFrame, 0, 1, Buffer.from([0, 0, 0, constants.NGHTTP2_CANCEL])))
  await waitUntil(() => outcomes.length === 4)
  assert.deepEqual(outcomes, ['too-slow', 'too-slow', 'aborted', 'aborted'])
  assert.deepEqual([impatient.rejected, rejected], [['slow-request', 'slow-request'], []])
  const quit = await tls(t, port)
  quit.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\nq')
  assert.match(await readAll(quit), /^HTTP\/1.1 400/, 'whoever stops reading can still answer')
  assert.equal(outcomes.at(-1), 'whole')
})

test('Expect: 100-continue is answered when the body is read', async t => {
  const { port } = await start(t, async exchange => {
    const body = exchange.target === '/read' ? await exchange.readBody(10) : Buffer.from('unread')
    exchange.respond(200, {})
    exchange.end([body])
  })
  const headers = 'host: x\r\nexpect: 100-continue\r\ncontent-length: 4\r\nconnection: close\r\n\r\n'
  const answers = [
    ['/read', 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200'],
    ['/refuse', 'HTTP/1.1 200'],
  ] as const
  for (const [path, answer] of answers) {
    const socket = await tls(t, port)
    socket.write(`POST ${path} HTTP/1.1\r\n${headers}`)
    socket.once('data', () => socket.write('body'))
    const text = await readAll(socket)
    assert.ok(text.startsWith(answer), text)
    assert.match(text, path === '/read' ? /body/ : /unread/)
  }
  const question = { ':path': '/read', ':method': 'POST', 'expect': '100-continue' }
  const stream = session(t, port).request(question, { endStream: false })
  await once(stream, 'continue')
  stream.end('body')
  assert.deepEqual(await stream.setEncoding('utf8').toArray(), ['body'])
})

test('responses that are not read time out without affecting other clients', async t => {
  const block = Buffer.alloc(64 * 1024)
  let stalled = 0
  const answer: Answer = async exchange => {
    if (exchange.target === '/small') return hello(exchange)
    exchange.respond(200, {})
    while (!exchange.closed) {
      if (exchange.write([block])) continue
      stalled++
      await exchange.drained()
    }
  }
  const stall = (port: number): ClientHttp2Stream[] => {
    const clients = Array.from({ length: 5 }, () => session(t, port, { settings: { initialWindowSize: 0 } }))
    const streams = clients.flatMap(client =>
      Array.from({ length: 200 }, () => client.request({ ':path': '/large' })),
    )
    for (const stream of streams) stream.on('error', () => undefined)
    return streams
  }
  const patient = await start(t, answer, { resetsBurst: 10_000 })
  stall(patient.port)
  await waitUntil(() => stalled === 1_000)
  assert.equal((await ask2(session(t, patient.port), { ':path': '/small' })).status, 200)
  assert.deepEqual(patient.rejected, [], 'answered while all others are stalled')
  const { port, rejected } = await start(t, answer, { stallTimeoutMs: 300, resetsBurst: 10_000 })
  await Promise.all(stall(port).map(closed))
  assert.equal(rejected.length, 1_000)
  assert.ok(rejected.every(reason => reason === 'slow-reader'))
  const socket = await tls(t, port)
  socket.write('GET /large HTTP/1.1\r\nhost: x\r\n\r\n')
  await waitUntil(() => rejected.length === 1_001)
})

test('floods of resets, pings, settings and pipelined requests close the connection', async t => {
  const { port, rejected } = await start(t, () => undefined, {
    resetsBurst: 20,
    resetsPerSecond: 1,
    controlFramesBurst: 20,
    controlFramesPerSecond: 1,
    pipelinedMax: 10,
  })
  const floods: ((client: ClientHttp2Session) => void)[] = [
    client => client.ping(() => undefined),
    client => client.settings({ initialWindowSize: 70_000 + Math.floor(performance.now()) }),
    client => {
      const stream = client.request({ ':path': '/' })
      stream.on('error', () => undefined)
      stream.close(constants.NGHTTP2_CANCEL)
    },
  ]
  for (const flood of floods) {
    const client = session(t, port)
    await once(client, 'connect')
    const flooding = setInterval(() => {
      if (!client.destroyed) flood(client)
    }, 1)
    await closed(client)
    clearInterval(flooding)
  }
  const socket = await tls(t, port)
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(20))
  await readAll(socket)
  assert.ok(rejected.includes('flood'))
  assert.ok(rejected.length >= 4, String(rejected))
})

test('connections beyond the bound are closed', async t => {
  const { port, rejected } = await start(t, hello, { pendingConnectionsMax: 2 })
  const kept = [session(t, port), session(t, port)]
  await Promise.all(kept.map(client => ask2(client)))
  await assert.rejects(ask1(port), /./)
  assert.deepEqual(rejected, ['connections'])
  kept[0]!.close()
  await closed(kept[0]!)
  assert.equal((await ask1(port)).status, 200)
})

test('idle connections without TLS do not prevent new ones', async t => {
  const { server, port } = await start(t, hello, { pendingConnectionsMax: 3 })
  for (let index = 0; index < 9; index++) {
    const idle = connectTcp(port, '127.0.0.1').on('error', () => undefined)
    t.after(() => idle.destroy())
  }
  await waitUntil(() => server.connectionCount === 3)
  const isServed = async (): Promise<boolean> => {
    return ask1(port).then(
      ({ status }) => status === 200,
      () => false,
    )
  }
  await waitUntil(isServed)
})

test('connections of authenticated clients have a bound of their own', async t => {
  const authenticated = (exchange: HttpExchange): void => {
    if (exchange.target === '/login') exchange.connection.authenticated()
    hello(exchange)
  }
  const { port, rejected } = await start(t, authenticated, { pendingConnectionsMax: 1, connectionsMax: 1 })
  const known = session(t, port)
  assert.equal((await ask2(known, { ':path': '/login' })).status, 200)
  const unknown = session(t, port)
  assert.equal((await ask2(unknown)).status, 200)
  await assert.rejects(ask1(port), /./)
  assert.equal((await ask2(known, { ':path': '/login' })).status, 200)
  assert.deepEqual(rejected, ['connections'])
  unknown.request({ ':path': '/login' }).on('error', () => undefined)
  await closed(unknown)
  assert.equal((await ask2(known)).status, 200)
})

test('an upgrade request hijacks the connection or gets a response', async t => {
  const { server, port } = await start(t, exchange => {
    if (exchange.target === '/refuse') return hello(exchange)
    const { connection, head } = exchange.hijack!()
    connection.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n')
    connection.write(head)
    connection.pipe(connection)
  })
  const socket = await tls(t, port)
  socket.write('GET /take HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\nearly ')
  socket.write('late')
  let text = ''
  socket.on('data', chunk => {
    text += chunk
  })
  while (!text.endsWith('early late')) await once(socket, 'data')
  const refused = await tls(t, port)
  refused.write('GET /refuse HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n')
  assert.match(await readAll(refused), /^HTTP\/1.1 200 OK\r\n[^]*hello \/refuse/)
  await Promise.all([server.stop(50), closed(socket)])
})

test('client and server stream a request body over HTTP/2', async t => {
  const begun = Promise.withResolvers<void>()
  const { port } = await start(t, async exchange => {
    exchange.respond(200, {})
    for await (const piece of exchange.body()) {
      exchange.write([Uint8Array.from(piece)])
      begun.resolve()
    }
    exchange.end()
  })
  const client = connectHttp({ origin: `https://127.0.0.1:${port}`, tls: { ca: certificates.ca } })
  t.after(() => client[Symbol.asyncDispose]())
  const body = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
    yield Buffer.from('first ')
    await begun.promise
    for (let count = 0; count < 100; count++) yield Buffer.alloc(65_536, 'x')
  }
  const response = await client.request({ method: 'POST', path: '/', body: body() })
  let sizeBytes = 0
  for await (const piece of response.body) sizeBytes += piece.length
  assert.equal(sizeBytes, 6 + 100 * 65_536)
  const broken = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
    yield Buffer.from('first ')
    throw new Error('no more')
  }
  await assert.rejects(async () => {
    const { body } = await client.request({ method: 'POST', path: '/', body: broken() })
    for await (const piece of body) assert.ok(piece.length > 0)
  })
})

test('client and server upgrade to SPDY and WebSocket over TLS', async t => {
  const { port } = await start(t, exchange => {
    if (exchange.hijack === undefined) return hello(exchange)
    const { connection, head } = exchange.hijack()
    const { upgrade } = exchange.headers
    const answer = `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${upgrade}\r\n\r\n`
    connection.write(`${answer}${exchange.method} ${exchange.target} ${upgrade} `)
    connection.write(head)
    connection.pipe(connection)
  })
  const client = connectHttp({ origin: `https://127.0.0.1:${port}`, tls: { ca: certificates.ca } })
  t.after(() => client[Symbol.asyncDispose]())
  // Opens an HTTP/2 connection, which cannot be used for the upgrade.
  assert.equal((await client.request({ method: 'GET', path: '/' })).status, 200)
  for (const [method, upgrade] of [
    ['POST', 'SPDY/3.1'],
    ['GET', 'websocket'],
  ] as const) {
    const headers = { upgrade, 'content-length': '0' }
    const upgraded = await client.upgrade({ method, path: '/exec?command=ls', headers })
    assert.ok(upgraded.type === 'upgraded')
    assert.equal(upgraded.headers['upgrade'], upgrade)
    upgraded.connection.write('bytes')
    let text = Buffer.from(upgraded.head).toString()
    upgraded.connection.on('data', (piece: Buffer) => {
      text += piece.toString()
    })
    await waitUntil(() => text === `${method} /exec?command=ls ${upgrade} bytes`)
    upgraded.connection.destroy()
  }
  const refused = await client.upgrade({ method: 'GET', path: '/plain' })
  assert.equal(refused.type === 'refused' && refused.response.status, 200)
  if (refused.type === 'refused') refused.response.discard()
  const stranger = connectHttp({ origin: `https://127.0.0.1:${port}` })
  await assert.rejects(stranger.upgrade({ method: 'GET', path: '/' }), { reason: 'unreachable' })
})

test('stopping waits for running requests, sends GOAWAY and closes the remaining connections', async t => {
  const running: HttpExchange[] = []
  const { server, port } = await start(t, exchange => void running.push(exchange))
  const idle2 = session(t, port)
  await once(idle2, 'connect')
  const idle1 = await tls(t, port)
  const halfOpen = connectTcp(port, '127.0.0.1')
  await once(halfOpen, 'connect')
  const client = session(t, port)
  const answers = [ask2(client), ask2(client), ask1(port, { agent: new Agent({ keepAlive: true }) })]
  await waitUntil(() => running.length === 3)
  const stopped = server.stop(5_000)
  await Promise.all([idle2, idle1, halfOpen].map(closed))
  await assert.rejects(ask1(port), /./)
  for (const exchange of running) hello(exchange)
  assert.deepEqual(
    (await Promise.all(answers)).map(({ status }) => status),
    [200, 200, 200],
  )
  await stopped
  const arrived = Promise.withResolvers<void>()
  const stuck = await start(t, () => arrived.resolve())
  const cut = session(t, stuck.port).request({ ':path': '/' })
  cut.on('error', () => undefined)
  await arrived.promise
  await stuck.server.stop(50)
  await closed(cut)
  assert.equal(stuck.server.connectionCount, 0)
})

test('a port in use and an invalid certificate are errors at start', async t => {
  const { port } = await start(t, hello)
  const options = { host: '127.0.0.1', onExchange: hello }
  const tls = { ...certificates.server, clientCa: certificates.ca }
  await assert.rejects(serveHttp({ ...options, port, tls }), { code: 'EADDRINUSE' })
  const none = { cert: 'x', key: 'y', clientCa: 'z' }
  await assert.rejects(serveHttp({ ...options, port: 0, tls: none }), /PEM|no start line/i)
})
