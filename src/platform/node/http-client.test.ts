import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer as createPlainServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTcpServer, type AddressInfo, type Server } from 'node:net'
import { test, type TestContext } from 'node:test'
import { HttpClientError, type HttpClient, type HttpClientErrorReason } from '../http-client.ts'
import { connectHttp } from './http-client.ts'

// What needs certificates, and so HTTP/2, is in tests/http-transport.test.ts.

test('a request carries method, path, headers and body there and status, headers and body back', async t => {
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

test('nobody at the address is unreachable, and the request not sent', async t => {
  const server = createTcpServer()
  const port = await listen(t, server)
  server.close()
  const client = connect(t, port)
  await assert.rejects(
    client.request({ method: 'GET', path: '/' }),
    failsWith('unreachable', { sent: false }),
  )
})

test('a server that does not speak HTTP sends garbage', async t => {
  const server = createTcpServer(socket => socket.end('who are you?\r\n\r\n'))
  const client = connect(t, await listen(t, server))
  await assert.rejects(client.request({ method: 'GET', path: '/' }), failsWith('garbage'))
})

test('an answer that breaks off in the middle is an error after what came', async t => {
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

test('aborting gives up the request, and the answer while it is read', async t => {
  const client = await start(t, (request, response) => {
    if (request.url === '/hang') return
    response.writeHead(200)
    response.write('first')
  })
  const reason = new Error('enough')
  const waiting = new AbortController()
  const hanging = client.request({ method: 'GET', path: '/hang', signal: waiting.signal })
  setTimeout(() => waiting.abort(reason), 10)
  await assert.rejects(hanging, reason)
  const reading = new AbortController()
  const response = await client.request({ method: 'GET', path: '/stream', signal: reading.signal })
  await assert.rejects(async () => {
    for await (const _piece of response.body) reading.abort(reason)
  }, reason)
  await assert.rejects(client.request({ method: 'GET', path: '/', signal: reading.signal }), reason)
})

test('ending the iteration or discarding the answer tells the server', async t => {
  let closed = 0
  const client = await start(t, (_request, response) => {
    response.once('close', () => closed++)
    response.writeHead(200)
    response.write('first')
  })
  for await (const _piece of (await client.request({ method: 'GET', path: '/' })).body) break
  const unread = await client.request({ method: 'GET', path: '/' })
  unread.discard()
  await until(() => closed === 2)
})

test('a connection is used again, and one that the server has closed is replaced', async t => {
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

type Answer = (request: IncomingMessage, response: ServerResponse) => void

async function start(
  t: TestContext,
  answer: Answer,
  use: (server: ReturnType<typeof createPlainServer>) => void = () => undefined,
): Promise<HttpClient> {
  const server = createPlainServer(answer)
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

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(resolve => setTimeout(resolve, 5))
}
