import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { HttpClientError, type HttpClient } from '#/platform/http-client.ts'
import type { HttpExchange } from '#/platform/http.ts'
import { inProcessHttp } from '#/platform/in-process-http.ts'
import { Simulation } from '#/platform/simulated.ts'
import { HttpTransport } from './http.ts'
import { forwardExchange, type ReverseProxyOptions } from './reverse-proxy.ts'

const platform = new Simulation({ seed: 1 }).host('a')

/** A client of a proxy to the server, whose URL has a path. */
function proxyTo(server: HttpClient): HttpClient {
  const transport = new HttpTransport({
    platform,
    connect: () => server,
    server: { url: 'http://server/prefix' },
    credentials: {
      current: async () => ({ headers: { authorization: 'Bearer secret' } }),
      onUnauthorized: () => false,
    },
  })
  return inProcessHttp(exchange => {
    void forwardExchange(exchange, { transport, target: exchange.target, onError: answerError(exchange) })
  })
}

function answerError(exchange: HttpExchange): ReverseProxyOptions['onError'] {
  return ({ message, hasBegun }) => {
    if (hasBegun) return
    exchange.respond(500, {})
    exchange.end([Buffer.from(message)])
  }
}

test('requests are passed on with credentials, and responses with their headers', async () => {
  const answer = async (exchange: HttpExchange): Promise<void> => {
    const body = Buffer.from(await exchange.readBody(1_000)).toString()
    exchange.respond(201, { 'x-theirs': 'b', 'connection': 'close' })
    exchange.end([Buffer.from(JSON.stringify([exchange.method, exchange.target, exchange.headers, body]))])
  }
  const proxy = proxyTo(inProcessHttp(exchange => void answer(exchange)))
  const headers = {
    'x-mine': 'a',
    'connection': 'keep-alive, x-drop',
    'x-drop': 'gone',
    'host': 'localhost',
    'content-length': '4',
  }
  const response = await proxy.request({
    method: 'POST',
    path: '/api?a=%2F',
    headers,
    body: Buffer.from('sent'),
  })
  assert.deepEqual(JSON.parse(await text(response.body)), [
    'POST',
    '/prefix/api?a=%2F',
    {
      'authorization': 'Bearer secret',
      'x-mine': 'a',
      'content-length': '4',
      'x-forwarded-for': '127.0.0.1',
    },
    'sent',
  ])
  assert.equal(response.status, 201)
  assert.equal(response.headers['x-theirs'], 'b')
  assert.equal(response.headers['connection'], undefined)
  const own = await proxy.request({ method: 'GET', path: '/', headers: { authorization: 'Bearer own' } })
  assert.match(await text(own.body), /Bearer own/)
})

test('a request is repeated with new credentials, unless it has a body or credentials of its own', async () => {
  const seen: string[] = []
  const server = inProcessHttp(exchange => {
    const { authorization = '' } = exchange.headers
    seen.push(authorization)
    exchange.respond(authorization === 'Bearer new' ? 200 : 401, {})
    exchange.end()
  })
  let token = 'old'
  const transport = new HttpTransport({
    platform,
    connect: () => server,
    server: { url: 'http://server' },
    credentials: {
      current: async () => ({ headers: { authorization: `Bearer ${token}` } }),
      onUnauthorized: () => {
        const isOld = token === 'old'
        token = 'new'
        return isOld
      },
    },
  })
  const own = await transport.forward({ method: 'GET', path: '/', headers: { authorization: 'Bearer own' } })
  const sent = await transport.forward({ method: 'POST', path: '/', body: Buffer.from('a') })
  token = 'old'
  const read = await transport.forward({ method: 'GET', path: '/' })
  assert.deepEqual(
    [own, sent, read].map(({ status }) => status),
    [401, 401, 200],
  )
  assert.deepEqual(seen, ['Bearer own', 'Bearer old', 'Bearer old', 'Bearer new'])
})

test('a response is passed on while it is written, and ended when the client is gone', async () => {
  const closed = Promise.withResolvers<void>()
  const proxy = proxyTo(
    inProcessHttp(exchange => {
      exchange.respond(200, {})
      exchange.write([Buffer.from('first')])
      exchange.onClose(() => closed.resolve())
    }),
  )
  const response = await proxy.request({ method: 'GET', path: '/' })
  for await (const piece of response.body) {
    assert.equal(Buffer.from(piece).toString(), 'first')
    break
  }
  await closed.promise
})

test('a response that breaks off is broken for the client, too', async () => {
  const proxy = proxyTo(
    inProcessHttp(exchange => {
      exchange.respond(200, {})
      exchange.abort()
    }),
  )
  const response = await proxy.request({ method: 'GET', path: '/' })
  await assert.rejects(text(response.body), { reason: 'interrupted' })
})

test('an upgraded connection is passed on in both directions', async () => {
  const proxy = proxyTo(
    inProcessHttp(exchange => {
      assert.equal(exchange.target, '/prefix/exec')
      const { connection } = exchange.hijack!()
      connection.write(
        'HTTP/1.1 101 Switching Protocols\r\nupgrade: echo\r\nconnection: upgrade\r\nx-a: b\r\n\r\n',
      )
      connection.pipe(connection)
    }),
  )
  const upgrade = await proxy.upgrade({ method: 'GET', path: '/exec', headers: { upgrade: 'echo' } })
  assert.equal(upgrade.type, 'upgraded')
  assert.equal(upgrade.headers['x-a'], 'b')
  upgrade.connection.end('there and back')
  assert.equal(Buffer.from(upgrade.head).toString() + (await text(upgrade.connection)), 'there and back')
})

test('a refused upgrade is an ordinary response, an unreachable server an error', async () => {
  const refusing = inProcessHttp(exchange => {
    exchange.respond(403, {})
    exchange.end([Buffer.from('no')])
  })
  const headers = { upgrade: 'echo' }
  const refused = await proxyTo(refusing).upgrade({ method: 'GET', path: '/', headers })
  assert.equal(refused.type, 'refused')
  assert.deepEqual([refused.response.status, await text(refused.response.body)], [403, 'no'])
  const fail = (): never => {
    throw new HttpClientError('unreachable', 'connection refused', { sent: false })
  }
  const broken = proxyTo({ ...refusing, request: async () => fail(), upgrade: async () => fail() })
  const failed = await broken.request({ method: 'GET', path: '/' })
  assert.deepEqual([failed.status, await text(failed.body)], [500, 'connection refused'])
})
