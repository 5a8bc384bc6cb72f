import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { HttpTransport } from '#/client/http.ts'
import { HttpClientError, type HttpClient } from '#/platform/http-client.ts'
import type { HttpExchange } from '#/platform/http.ts'
import { inProcessHttp } from '#/platform/in-process-http.ts'
import type { Files } from '#/platform/platform.ts'
import { Simulation } from '#/platform/simulated.ts'
import { passOn } from './pass-on.ts'
import { serveFile } from './serve-files.ts'

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
    void passOn(exchange, { transport, target: exchange.target, onError: () => undefined })
  })
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
  assert.deepEqual([failed.status, await text(failed.body)], [500, 'connection refused\n'])
})

test('files are served with their types, folders as lists', async () => {
  const check = async (files: Files, path: string, expected: string): Promise<void> => {
    const server = inProcessHttp(exchange => {
      void serveFile(exchange, { files, folder: '/www', path: decodeURIComponent(exchange.target) })
    })
    const { status, headers, body } = await server.request({ method: 'GET', path })
    const shown = (await text(body)).replaceAll('\n', ' ').trim()
    assert.equal(
      [status, headers['location'] ?? headers['content-type'], shown].filter(Boolean).join(' '),
      expected,
    )
  }
  const simulation = new Simulation({ seed: 1 })
  const { files } = simulation.host('a')
  const run = async (): Promise<void> => {
    await files.makeFolder('/www/list')
    await files.makeFolder('/www/site')
    await files.write('/www/list/a & b.txt', 'text')
    await files.write('/www/site/index.html', '<p>')
    await check(files, '/list/a%20&%20b.txt', '200 text/plain; charset=utf-8 text')
    await check(files, '/site/', '200 text/html; charset=utf-8 <p>')
    await check(files, '/site', '301 site/')
    await check(files, '/site/index.html', '301 ./')
    await check(files, '/list/a%20&%20b.txt/', '301 ../a%20%26%20b.txt')
    await check(files, '/none', '404 text/plain; charset=utf-8 404 page not found')
    const head = '<!doctype html> <meta name="viewport" content="width=device-width"> <pre>'
    const link = '<a href="a%20&%20b.txt">a &amp; b.txt</a>'
    await check(files, '/list/', `200 text/html; charset=utf-8 ${head} ${link} </pre>`)
  }
  await simulation.run(run())
})
