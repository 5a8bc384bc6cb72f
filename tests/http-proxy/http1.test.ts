/** The reverse proxy between HTTP/1.1 clients and backends, with real sockets. */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Agent, request as httpRequest } from 'node:http'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { waitUntil, waitUntilStable } from '../wait-until.ts'
import {
  backendAt,
  closedPort,
  configurationOf,
  exchangeRaw,
  loopback,
  RawClient,
  routeTo,
  startBackend,
  startProxy,
  startRawBackend,
} from './test-proxy.ts'

test('a request reaches its backend with headers of the proxy, and without those of the connection', async t => {
  const backend = await startBackend(t, (request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ url: request.url, headers: request.headers }))
  })
  const { port } = await startProxy(t, configurationOf({ backends: [backendAt([backend])] }))
  const answer = await exchangeRaw(
    port,
    'GET /a/../b?c=d HTTP/1.1\r\nHost: Web.Example.com:8080\r\nConnection: close, X-Secret\r\n' +
      'X-Secret: 1\r\nX-Forwarded-For: 1.2.3.4\r\nX_Forwarded_Proto: https\r\nForwarded: for=1\r\n' +
      'TE: trailers\r\nX-Other: 2\r\n\r\n',
  )
  assert.match(answer, /^HTTP\/1\.1 200 OK\r\n/)
  assert.match(answer, /\r\nconnection: close\r\n/)
  const { url, headers } = JSON.parse(answer.slice(answer.indexOf('{'))) as {
    readonly url: string
    readonly headers: Record<string, string>
  }
  assert.equal(url, '/b?c=d')
  const { 'x-request-id': id, ...rest } = headers
  assert.match(id ?? '', /^[0-9a-f]{32}$/)
  assert.deepEqual(rest, {
    'host': 'Web.Example.com:8080',
    'x-other': '2',
    'x-forwarded-for': loopback,
    'x-forwarded-proto': 'http',
    'x-forwarded-host': 'Web.Example.com:8080',
    'x-forwarded-port': String(port),
    'x-real-ip': loopback,
  })
})

test('a listener behind another port tells backends and redirects the port that clients use', async t => {
  const backend = await startBackend(t, ({ headers }, response) => response.end(headers['x-forwarded-port']))
  const listener = { externalPort: 8_080 }
  const { proxy, port } = await startProxy(t, configurationOf({ backends: [backendAt([backend])], listener }))
  const get = 'GET / HTTP/1.1\r\nHost: web\r\nConnection: close\r\n\r\n'
  assert.match(await exchangeRaw(port, get), /\r\n8080$|8080\r\n/)
  const route = { filters: [{ type: 'redirect', hostname: 'other', status: 302 } as const] }
  await proxy.apply(configurationOf({ backends: [backendAt([backend])], listener, route }))
  assert.match(await exchangeRaw(port, get), /\r\nlocation: http:\/\/other:8080\/\r\n/)
})

test('requests of a connection are answered in order, also pipelined ones', async t => {
  const backend = await startBackend(t, (request, response) => {
    response.end(`[${request.url}]`)
  })
  const { port, proxy } = await startProxy(t, configurationOf({ backends: [backendAt([backend])] }))
  const client = new RawClient(port)
  client.send('GET /1 HTTP/1.1\r\nHost: a\r\n\r\n')
  await client.until('[/1]')
  client.send([2, 3, 4].map(number => `GET /${number} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''))
  await client.until('[/2]')
  await client.until('[/3]')
  await client.until('[/4]')
  assert.equal(proxy.connectionCount, 1)
  client.socket.destroy()
})

test('bodies pass unchanged, with a length and in chunks, in both directions', async t => {
  const backend = await startBackend(t, (request, response) => {
    if (request.url === '/length')
      response.setHeader('content-length', request.headers['content-length'] ?? '')
    request.pipe(response)
  })
  const { port } = await startProxy(t, configurationOf({ backends: [backendAt([backend])] }))
  const body = randomBytes(5_000_000)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())
  for (const path of ['/length', '/chunked', '/length']) {
    const headers = path === '/length' ? { 'content-length': String(body.length) } : {}
    const request = httpRequest({ port, host: loopback, path, method: 'POST', agent, headers })
    request.end(body)
    const [response] = await once(request, 'response')
    const received = Buffer.concat(await Array.fromAsync(response as AsyncIterable<Buffer>))
    assert.equal(sha(received), sha(body))
  }
})

test('HEAD, 204 and 304 have no body, and the connection goes on', async t => {
  const backend = await startBackend(t, (request, response) => {
    response.statusCode = Number(request.url?.slice(1))
    if (request.method === 'HEAD') response.setHeader('content-length', '1234')
    response.end()
  })
  const { port } = await startProxy(t, configurationOf({ backends: [backendAt([backend])] }))
  const client = new RawClient(port)
  client.send('HEAD /200 HTTP/1.1\r\nHost: a\r\n\r\n')
  assert.match(await client.until('\r\n\r\n'), /content-length: 1234/)
  client.send('GET /204 HTTP/1.1\r\nHost: a\r\n\r\n')
  assert.doesNotMatch(await client.until('\r\n\r\n'), /content-length|transfer-encoding/)
  client.send('GET /304 HTTP/1.1\r\nHost: a\r\n\r\n')
  assert.match(await client.until('\r\n\r\n'), /^HTTP\/1.1 304/)
  client.socket.destroy()
})

test('interim responses reach the client, and 100-continue asks it for the body', async t => {
  const backend = await startBackend(t, (request, response) => {
    response.writeEarlyHints({ link: '</style.css>; rel=preload' })
    text(request).then(
      body => response.end(`got ${body}`),
      () => undefined,
    )
  })
  const { port } = await startProxy(t, configurationOf({ backends: [backendAt([backend])] }))
  const client = new RawClient(port)
  client.send('POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n')
  await client.until('HTTP/1.1 100 Continue\r\n\r\n')
  await client.until('HTTP/1.1 103 Early Hints\r\n')
  client.send('body')
  await client.until('got body')
  client.socket.destroy()
})

test('HTTP/1.0 clients get responses that end with the connection, or keep it on request', async t => {
  const backend = await startBackend(t, (request, response) => {
    if (request.url === '/length') response.setHeader('content-length', 2)
    response.write('o')
    response.end('k')
  })
  const { port } = await startProxy(t, configurationOf({ backends: [backendAt([backend])] }))
  const answer = await exchangeRaw(port, 'GET / HTTP/1.0\r\n\r\n')
  assert.match(answer, /\r\n\r\nok$/)
  assert.doesNotMatch(answer, /transfer-encoding/)
  const kept = await exchangeRaw(
    port,
    'GET /length HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /length HTTP/1.0\r\n\r\n',
  )
  assert.equal(kept.split('\r\n\r\nok').length, 3)
})

test('a slow reader stops the backend instead of filling memory', async t => {
  let sent = 0
  const piece = Buffer.alloc(64 * 1024)
  const backend = await startBackend(t, (_request, response) => {
    const send = (): void => {
      while (sent < 200_000_000) {
        sent += piece.length
        if (!response.write(piece)) return void response.once('drain', send)
      }
      response.end()
    }
    send()
  })
  const { port } = await startProxy(t, configurationOf({ backends: [backendAt([backend])] }))
  const client = new RawClient(port)
  client.socket.pause()
  client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await waitUntil(() => sent > 0)
  await waitUntilStable(() => sent)
  assert.ok(sent < 100_000_000, `${sent} bytes`)
  client.socket.destroy()
})

test('a client that leaves ends the request to the backend', async t => {
  const closed = Promise.withResolvers<void>()
  const started = Promise.withResolvers<void>()
  const backend = await startBackend(t, (_request, response) => {
    response.once('close', () => closed.resolve())
    response.write('begin')
    started.resolve()
  })
  const { port, accessLog, proxy } = await startProxy(
    t,
    configurationOf({ backends: [backendAt([backend])] }),
  )
  const client = new RawClient(port)
  client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await started.promise
  await client.until('begin')
  client.socket.destroy()
  await closed.promise
  await waitUntil(() => Promise.resolve(proxy.connectionCount === 0))
  await waitUntil(() => Promise.resolve(accessLog.length === 1))
})

test('another endpoint gets a request that the first one refuses; an interrupted response is cut off', async t => {
  const backend = await startBackend(t, (_request, response) => {
    response.end('ok')
  })
  const refused = await closedPort()
  const { port, proxy } = await startProxy(t, configurationOf({ backends: [backendAt([refused, backend])] }))
  for (let count = 0; count < 10; count++) {
    const answer = await exchangeRaw(
      port,
      'POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx',
    )
    assert.match(answer, /^HTTP\/1.1 200/)
  }
  assert.match(proxy.metrics.registry.render(), /upstream_errors_total\{.*reason="unreachable".*\} 1\n/)
  const cut = await startRawBackend(t, socket => {
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf'))
  })
  await proxy.apply(configurationOf({ backends: [backendAt([cut])] }))
  assert.match(await exchangeRaw(port, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'), /half$/)
})

test('a GET on a connection that the backend has just closed is repeated, a POST is not', async t => {
  let requests = 0
  const backend = await startRawBackend(t, socket => {
    let mine = 0
    socket.on('data', () => {
      requests++
      // The second request of each connection finds it closing.
      if (mine++ === 0) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
      else socket.destroy()
    })
  })
  const { port } = await startProxy(t, configurationOf({ backends: [backendAt([backend])] }))
  const client = new RawClient(port)
  for (let count = 0; count < 3; count++) {
    client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    assert.match(await client.until('\r\n\r\nok'), /^HTTP\/1.1 200/)
  }
  assert.equal(requests, 5)
  client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx')
  assert.match(await client.until('\r\n\r\n'), /^HTTP\/1.1 502/)
  client.socket.destroy()
})

test('an upgraded connection passes bytes in both directions, also those sent with the heads', async t => {
  const backend = await startRawBackend(t, socket => {
    socket.once('data', head => {
      assert.match(String(head), /\r\nconnection: upgrade\r\nupgrade: websocket\r\n/)
      socket.write(
        'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-A: b\r\n\r\nhello',
      )
      socket.on('data', bytes => socket.write(`<${String(bytes)}>`))
      socket.on('end', () => socket.end('bye'))
    })
  })
  const { port } = await startProxy(t, configurationOf({ backends: [backendAt([backend])] }))
  const client = new RawClient(port)
  client.send(
    'GET /ws HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\nearly',
  )
  assert.match(await client.until('hello'), /^HTTP\/1.1 101 Switching Protocols\r\nx-a: b\r\n/)
  await client.until('<early>')
  client.send('later')
  await client.until('<later>')
  client.socket.end()
  await client.until('bye')
  await once(client.socket, 'close')
})

test('limits of a route: body size, timeouts, allowed clients', async t => {
  const backend = await startBackend(t, (request, response) => {
    if (request.url === '/hang') return
    text(request).then(
      () => response.end('ok'),
      () => undefined,
    )
  })
  const to = (changes: Parameters<typeof routeTo>[1]) => [routeTo('default/web:80', changes)]
  const hosts = [
    { hostname: 'small', wildcard: 'one-label', routes: to({ bodyBytesMax: 10 }) },
    { hostname: 'quick', wildcard: 'one-label', routes: to({ timeouts: { requestMs: 50 } }) },
    { hostname: 'attempt', wildcard: 'one-label', routes: to({ timeouts: { backendRequestMs: 50 } }) },
    { hostname: 'idle', wildcard: 'one-label', routes: to({ timeouts: { backendIdleMs: 50 } }) },
    { hostname: 'closed', wildcard: 'one-label', routes: to({ allowedClientCidrs: ['10.0.0.0/8'] }) },
    { hostname: 'open', wildcard: 'one-label', routes: to({ allowedClientCidrs: ['127.0.0.0/8'] }) },
    { hostname: 'empty', wildcard: 'one-label', routes: to({ backends: [] }) },
    { hostname: 'nowhere', wildcard: 'one-label', routes: [routeTo('none')] },
  ] as const
  const none = backendAt([], { id: 'none' })
  const { port } = await startProxy(t, configurationOf({ backends: [backendAt([backend]), none], hosts }))
  const chunked = 'Transfer-Encoding: chunked\r\n\r\n6\r\n123456\r\n6\r\n123456\r\n0\r\n\r\n'
  const cases: readonly (readonly [string, number])[] = [
    ['POST / HTTP/1.1\r\nHost: small\r\nContent-Length: 11\r\n\r\n', 413],
    [`POST / HTTP/1.1\r\nHost: small\r\n${chunked}`, 413],
    ['GET /hang HTTP/1.1\r\nHost: quick\r\nConnection: close\r\n\r\n', 504],
    ['GET /hang HTTP/1.1\r\nHost: attempt\r\nConnection: close\r\n\r\n', 504],
    ['GET /hang HTTP/1.1\r\nHost: idle\r\nConnection: close\r\n\r\n', 504],
    ['GET / HTTP/1.1\r\nHost: closed\r\nConnection: close\r\n\r\n', 403],
    ['GET / HTTP/1.1\r\nHost: open\r\nConnection: close\r\n\r\n', 200],
    ['GET / HTTP/1.1\r\nHost: empty\r\nConnection: close\r\n\r\n', 500],
    ['GET / HTTP/1.1\r\nHost: nowhere\r\nConnection: close\r\n\r\n', 503],
    ['GET / HTTP/1.1\r\nHost: other\r\nConnection: close\r\n\r\n', 404],
  ]
  for (const [request, status] of cases)
    assert.match(await exchangeRaw(port, request), new RegExp(`^HTTP/1.1 ${status} `), request)
})

test('a mirror gets a copy of the request, and its answer or absence changes nothing', async t => {
  const copies: string[] = []
  const mirror = await startBackend(t, (request, response) => {
    text(request).then(
      body => {
        copies.push(`${request.method} ${request.url} ${body}`)
        response.statusCode = 500
        response.end('mirror')
      },
      () => undefined,
    )
  })
  const backend = await startBackend(t, (request, response) => {
    text(request).then(
      body => response.end(`got ${body.length}`),
      () => undefined,
    )
  })
  const mirrorTo = (id: string) => ({ type: 'mirror', backend: id, percent: 100 }) as const
  const filters = [mirrorTo('mirror'), mirrorTo('gone'), mirrorTo('unknown')]
  const hosts = [
    { hostname: '*', wildcard: 'one-label', routes: [routeTo('default/web:80', { filters })] },
  ] as const
  const gone = backendAt([await closedPort()], { id: 'gone' })
  const backends = [backendAt([backend]), backendAt([mirror], { id: 'mirror' }), gone]
  const { port } = await startProxy(t, configurationOf({ backends, hosts }))
  const bodies = ['Content-Length: 3\r\n\r\nabc', 'Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n']
  for (const body of bodies) {
    const answer = await exchangeRaw(port, `POST /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${body}`)
    assert.match(answer, /^HTTP\/1.1 200 [^]*got 3/)
  }
  await waitUntil(() => copies.length === 2)
  assert.deepEqual(copies, ['POST /x abc', 'POST /x abc'])
})

test('a connection is closed after its last request, and an early response ends the request', async t => {
  const backend = await startBackend(t, (request, response) => {
    response.end(request.method)
  })
  const limits = { requestsPerConnectionMax: 2 }
  const { port } = await startProxy(t, configurationOf({ backends: [backendAt([backend])] }), limits)
  const answer = await exchangeRaw(port, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(3))
  assert.equal(answer.split('HTTP/1.1 200').length, 3)
  const early = await exchangeRaw(port, 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\npart')
  assert.match(early, /^HTTP\/1.1 200 [^]*connection: close[^]*POST/)
})

test('slow and excessive clients are refused without effect on others', async t => {
  const backend = await startBackend(t, (_request, response) => {
    response.end('ok')
  })
  const limits = { headerTimeoutMs: 1_000, idleTimeoutMs: 1_000, headerBytesMax: 4_096, connectionsMax: 20 }
  const { port, proxy } = await startProxy(t, configurationOf({ backends: [backendAt([backend])] }), limits)
  const large = `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(5_000)}\r\n\r\n`
  assert.match(await exchangeRaw(port, large), /^HTTP\/1.1 431 /)
  assert.match(await exchangeRaw(port, 'GET / HTTP/1.1\r\nHost: a\r\nX-Slow'), /^HTTP\/1.1 408 /)
  assert.equal(await exchangeRaw(port, ''), '')
  const idle = await exchangeRaw(port, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  assert.match(idle, /^HTTP\/1.1 200 /)
  const many = Array.from({ length: 60 }, () => new RawClient(port))
  const other = '127.0.0.2'
  assert.match(await exchangeRaw(port, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n', other), /^HTTP\/1.1 200 /)
  assert.ok(proxy.connectionCount <= 20)
  for (const client of many) client.socket.destroy()
})

function sha(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
