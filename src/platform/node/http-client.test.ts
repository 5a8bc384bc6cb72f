import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer as createPlainServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTcpServer, type AddressInfo, type Server } from 'node:net'
import type { Duplex } from 'node:stream'
import { test, type TestContext } from 'node:test'
import { waitUntil, waitUntilStable } from '../../../tests/wait-until.ts'
import { HttpClientError, type HttpClient, type HttpClientErrorReason } from '../http-client.ts'
import { connectHttp } from './http-client.ts'

// Tests with certificates, and so with HTTP/2, are in tests/http-transport.test.ts.

test('an HTTP request sends method, path, headers and body and returns status, headers and body', async t => {
  const client = await start(t, (request, response) => {
    let text = ''
    request.on('data', piece => {
      text += piece
    })
    request.on('end', () => {
      response.writeHead(201, { 'x-answer': 'yes' })
      response.end(`${request.method} ${request.url} ${String(request.headers['x-question'])} ${text}`)
    })
  })
  const response = await client.request({
    method: 'POST',
    path: '//odd/path?a=b',
    headers: { 'x-question': 'why' },
    body: Buffer.from('body'),
  })
  assert.equal(response.status, 201)
  assert.equal(response.headers['x-answer'], 'yes')
  assert.equal(await textOf(response.body), 'POST //odd/path?a=b why body')
})

test('a refused connection fails as unreachable and not sent', async t => {
  const server = createTcpServer()
  const port = await listen(t, server)
  server.close()
  const client = connect(t, port)
  await assert.rejects(
    client.request({ method: 'GET', path: '/' }),
    failsWith('unreachable', { sent: false }),
  )
})

test('a server that does not speak HTTP fails as invalid-response', async t => {
  const server = createTcpServer(socket => socket.end('who are you?\r\n\r\n'))
  const client = connect(t, await listen(t, server))
  await assert.rejects(client.request({ method: 'GET', path: '/' }), failsWith('invalid-response'))
})

test('an interrupted response fails after its first part', async t => {
  const client = await start(t, (_request, response) => {
    response.writeHead(200, { 'content-length': '100' })
    response.write('half', () => response.destroy())
  })
  const response = await client.request({ method: 'GET', path: '/' })
  let seen = ''
  await assert.rejects(async () => {
    for await (const piece of response.body) seen += Buffer.from(piece).toString()
  }, failsWith('interrupted'))
  assert.equal(seen, 'half')
})

test('aborting ends the request, or the response while it is read', async t => {
  const waiting = new AbortController()
  const reason = new Error('enough')
  const client = await start(t, (request, response) => {
    if (request.url === '/hang') return waiting.abort(reason)
    response.writeHead(200)
    response.write('first')
  })
  const hanging = client.request({ method: 'GET', path: '/hang', signal: waiting.signal })
  await assert.rejects(hanging, reason)
  const reading = new AbortController()
  const response = await client.request({ method: 'GET', path: '/stream', signal: reading.signal })
  await assert.rejects(async () => {
    for await (const _piece of response.body) reading.abort(reason)
  }, reason)
  await assert.rejects(client.request({ method: 'GET', path: '/', signal: reading.signal }), reason)
})

test('leaving or discarding a response closes its stream', async t => {
  let closed = 0
  const client = await start(t, (_request, response) => {
    response.once('close', () => closed++)
    response.writeHead(200)
    response.write('first')
  })
  for await (const _piece of (await client.request({ method: 'GET', path: '/' })).body) break
  const unread = await client.request({ method: 'GET', path: '/' })
  unread.discard()
  await waitUntil(() => closed === 2)
})

test('connections are reused, and replaced when closed by the server', async t => {
  const connections = new Set<unknown>()
  let server: ReturnType<typeof createPlainServer> | undefined
  const client = await start(
    t,
    (request, response) => {
      connections.add(request.socket)
      response.end('fine')
    },
    each => {
      server = each
    },
  )
  for (let count = 0; count < 3; count++) {
    assert.equal(await textOf((await client.request({ method: 'GET', path: '/' })).body), 'fine')
  }
  assert.equal(connections.size, 1)
  server?.closeAllConnections()
  assert.equal(await textOf((await client.request({ method: 'GET', path: '/' })).body), 'fine')
  assert.equal(connections.size, 2)
})

test('a streamed request body is sent with backpressure', async t => {
  let taken = 0
  const read = Promise.withResolvers<void>()
  const client = await start(t, async (request, response) => {
    response.writeHead(200)
    response.write('begun ')
    await read.promise
    let size = 0
    for await (const piece of request) size += (piece as Buffer).length
    response.end(`${size} ${request.headers['transfer-encoding']}`)
  })
  const response = await client.request({ method: 'PUT', path: '/', body: pieces() })
  const answer = textOf(response.body)
  await waitUntil(() => taken > 10)
  await waitUntilStable(() => taken)
  assert.ok(taken < 1_000, `${taken} pieces were taken although nobody reads`)
  read.resolve()
  assert.equal(await answer, `begun ${1_000 * 65_536} chunked`)
  assert.equal(taken, 1_000)

  async function* pieces(): AsyncGenerator<Uint8Array, void, undefined> {
    for (; taken < 1_000; taken++) yield Buffer.alloc(65_536)
  }
})

test('a failing request body aborts the request; an unwanted one is not read', async t => {
  const client = await start(t, (request, response) => {
    if (request.url === '/no') response.writeHead(413, { connection: 'close' }).end('no')
    else request.resume()
  })
  const reason = new Error('the source failed')
  const broken = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
    yield Buffer.from('some')
    throw reason
  }
  await assert.rejects(client.request({ method: 'POST', path: '/', body: broken() }), reason)
  let isEnded = false
  const endless = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for (;;) yield Buffer.alloc(65_536)
    } finally {
      isEnded = true
    }
  }
  const response = await client.request({ method: 'POST', path: '/no', body: endless() })
  assert.equal(response.status, 413)
  response.discard()
  await waitUntil(() => isEnded)
})

test('an upgrade returns the connection and the bytes already received', async t => {
  const client = await start(t, refuse, server => {
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      const { method, url, headers } = request
      const line = `x-seen: ${method} ${url} ${headers.upgrade} ${headers.connection} ${head.length}`
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n${line}\r\n\r\nhi `,
      )
      socket.pipe(socket)
    })
  })
  const headers = { upgrade: 'echo' }
  const upgrade = await client.upgrade({ method: 'POST', path: '/exec?a=b', headers })
  assert.ok(upgrade.type === 'upgraded')
  assert.deepEqual([upgrade.status, upgrade.headers['upgrade']], [101, 'echo'])
  assert.equal(upgrade.headers['x-seen'], 'POST /exec?a=b echo Upgrade 0')
  upgrade.connection.write('there')
  let text = Buffer.from(upgrade.head).toString()
  upgrade.connection.on('data', (piece: Buffer) => {
    text += piece.toString()
  })
  await waitUntil(() => text === 'hi there')
  upgrade.connection.end()
  await once(upgrade.connection, 'close')
})

test('a refused, failed or aborted upgrade is reported as such', async t => {
  const reason = new Error('enough')
  const abortion = new AbortController()
  const client = await start(t, refuse, server => {
    server.on('upgrade', (request: IncomingMessage, socket: Duplex) => {
      if (request.url === '/hang') abortion.abort(reason)
      if (request.url === '/cut') socket.destroy()
      if (request.url === '/garbage') socket.end('who are you?\r\n\r\n')
      if (request.url === '/no') socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno')
      socket.on('error', () => undefined)
      socket.on('end', () => socket.end())
    })
  })
  const ask = (path: string, signal?: AbortSignal) =>
    client.upgrade({ method: 'GET', path, headers: { upgrade: 'echo' }, ...(signal && { signal }) })
  const refused = await ask('/no')
  assert.ok(refused.type === 'refused')
  assert.deepEqual([refused.response.status, await textOf(refused.response.body)], [403, 'no'])
  await assert.rejects(ask('/cut'), failsWith('interrupted'))
  await assert.rejects(ask('/garbage'), failsWith('invalid-response'))
  await assert.rejects(ask('/', AbortSignal.abort(reason)), reason)
  await assert.rejects(ask('/hang', abortion.signal), reason)
  const server = createTcpServer()
  const port = await listen(t, server)
  server.close()
  const alone = connect(t, port)
  await assert.rejects(alone.upgrade({ method: 'GET', path: '/' }), failsWith('unreachable', { sent: false }))
})

function refuse(_request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(400).end()
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>

async function start(
  t: TestContext,
  answer: Answer,
  use: (server: ReturnType<typeof createPlainServer>) => void = () => undefined,
): Promise<HttpClient> {
  const server = createPlainServer((request, response) => void answer(request, response))
  use(server)
  t.after(() => server.closeAllConnections())
  return connect(t, await listen(t, server))
}

async function listen(t: TestContext, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return (server.address() as AddressInfo).port
}

function connect(t: TestContext, port: number): HttpClient {
  const client = connectHttp({ origin: `http://127.0.0.1:${port}` })
  t.after(() => client[Symbol.asyncDispose]())
  return client
}

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = []
  for await (const piece of body) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}

function failsWith(reason: HttpClientErrorReason, { sent = true } = {}): (error: unknown) => boolean {
  return error => error instanceof HttpClientError && error.reason === reason && error.sent === sent
}
