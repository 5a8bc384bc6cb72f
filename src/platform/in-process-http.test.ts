import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import type { HttpClient } from './http-client.ts'
import type { HttpExchange } from './http.ts'
import { inProcessHttp } from './in-process-http.ts'

/** A client, and the exchange of its next request. */
function serverOf(): { readonly client: HttpClient; readonly next: () => Promise<HttpExchange> } {
  const waiting = Promise.withResolvers<HttpExchange>()
  return { client: inProcessHttp(waiting.resolve), next: () => waiting.promise }
}

test('an in-process request and its response are passed on unchanged', async () => {
  const { client, next } = serverOf()
  const answer = client.request({
    method: 'POST',
    path: '/a?b=c',
    headers: { 'x-one': '1', 'x-two': ['2', '3'] },
    body: Buffer.from('hello'),
  })
  const exchange = await next()
  assert.deepEqual([exchange.method, exchange.target, exchange.hijack], ['POST', '/a?b=c', undefined])
  assert.deepEqual({ ...exchange.headers }, { 'x-one': '1', 'x-two': '2, 3' })
  assert.deepEqual(exchange.headerValues('x-two'), ['2', '3'])
  const body = await exchange.readBody(5)
  await assert.rejects(exchange.readBody(4), { reason: 'too-large' })
  exchange.respond(201, { 'content-type': 'text/plain' })
  exchange.end([body, Buffer.from(' again')])
  const response = await answer
  assert.deepEqual([response.status, response.headers['content-type']], [201, 'text/plain'])
  assert.equal(await text(response.body), 'hello again')
})

test('an in-process response is written at the speed of its reader', async () => {
  const { client, next } = serverOf()
  const answer = client.request({ method: 'GET', path: '/' })
  const exchange = await next()
  exchange.respond(200, {})
  const { body } = await answer
  let writtenBytes = 0
  while (exchange.write([Buffer.alloc(1_000)])) writtenBytes += 1_000
  assert.ok(writtenBytes < 1_000_000)
  const reading = text(body)
  await exchange.drained()
  exchange.end()
  assert.equal((await reading).length, writtenBytes + 1_000)
})

test('an aborted in-process response fails, and a cancelled one closes the exchange', async () => {
  const first = serverOf()
  const broken = first.client.request({ method: 'GET', path: '/' })
  const exchange = await first.next()
  exchange.respond(200, {})
  const { body } = await broken
  exchange.abort()
  await assert.rejects(text(body), { reason: 'interrupted' })

  const second = serverOf()
  const cancel = new AbortController()
  const refused = second.client.request({ method: 'GET', path: '/', signal: cancel.signal })
  const closed = new Promise<void>(resolve => void second.next().then(each => each.onClose(resolve)))
  cancel.abort(new Error('no more'))
  await assert.rejects(refused, /no more/)
  await closed
})

test('an in-process upgrade joins two connections, and a destroyed one resets the other', async () => {
  const { client, next } = serverOf()
  const answer = client.upgrade({ method: 'GET', path: '/', headers: { upgrade: 'it' } })
  const exchange = await next()
  assert.equal(exchange.headers['connection'], 'Upgrade')
  const { connection: server } = exchange.hijack!()
  server.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: it\r\n\r\nfirst')
  const upgrade = await answer
  assert.ok(upgrade.type === 'upgraded')
  assert.deepEqual([upgrade.status, upgrade.headers['upgrade']], [101, 'it'])
  assert.equal(Buffer.from(upgrade.head).toString(), 'first')
  server.end('last')
  upgrade.connection.resume()
  const gone = new Promise<void>(resolve => void server.once('close', resolve))
  upgrade.connection.destroy()
  await gone
})

test('an in-process upgrade can be refused, and fails when the server closes it', async () => {
  const first = serverOf()
  const refused = first.client.upgrade({ method: 'GET', path: '/', headers: { upgrade: 'it' } })
  const exchange = await first.next()
  exchange.respond(403, {})
  exchange.end([Buffer.from('no')])
  const upgrade = await refused
  assert.ok(upgrade.type === 'refused')
  assert.deepEqual([upgrade.response.status, await text(upgrade.response.body)], [403, 'no'])

  const second = serverOf()
  const broken = second.client.upgrade({ method: 'GET', path: '/', headers: { upgrade: 'it' } })
  const { connection } = (await second.next()).hijack!()
  connection.destroy()
  await assert.rejects(broken, { reason: 'interrupted' })
})
