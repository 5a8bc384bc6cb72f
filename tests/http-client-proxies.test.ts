/** The HTTP client through proxies: CONNECT and SOCKS 5 on loopback, that of this test. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer as createHttpServer } from 'node:http'
import { createSecureServer } from 'node:http2'
import { createServer as createHttpsServer } from 'node:https'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { after, test, type TestContext } from 'node:test'
import { createServer as createTlsServer } from 'node:tls'
import type { HttpClientOptions } from '#/platform/http-client.ts'
import { connectHttp } from '#/platform/node.ts'
import { makeCertificates } from './etcd/certificates.ts'

const folder = await mkdtemp(join(tmpdir(), 'k8ts-test-'))
after(() => rm(folder, { recursive: true, force: true }))
const { client: certificate } = await makeCertificates(folder)
const tls = { ca: certificate.ca! }

async function listen(t: TestContext, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => void sockets.add(socket))
  t.after(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return (server.address() as AddressInfo).port
}

interface Proxy {
  readonly port: number
  /** The targets, with the credentials of the client. */
  readonly seen: string[]
}

function connectBoth(one: Duplex, other: Duplex): void {
  for (const each of [one, other]) each.on('error', () => undefined)
  one.pipe(other).pipe(one)
}

/** Answers CONNECT. */
async function startHttpProxy(t: TestContext, withTls: boolean): Promise<Proxy> {
  const seen: string[] = []
  const server = withTls
    ? createHttpsServer({ cert: certificate.cert, key: certificate.key } as object)
    : createHttpServer()
  server.on('connect', (request, client: Duplex) => {
    const credentials = request.headers['proxy-authorization'] ?? ''
    seen.push(`${request.url} ${Buffer.from(credentials.replace('Basic ', ''), 'base64').toString()}`.trim())
    const [host = '', port] = request.url!.split(':')
    const target = connect(Number(port), host === 'backend.test' ? '127.0.0.1' : host, () => {
      client.write('HTTP/1.1 200 Connection established\r\nvia: test\r\n\r\n')
      connectBoth(client, target)
    })
    target.on('error', () => client.end('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n'))
  })
  return { port: await listen(t, server), seen }
}

/** Answers SOCKS 5; a greeting that offers a password is asked for it. */
async function startSocksProxy(t: TestContext): Promise<Proxy> {
  const seen: string[] = []
  const server = createServer(client => {
    client.on('error', () => undefined)
    const next = async (sizeBytes: number): Promise<Buffer> => {
      for (;;) {
        const bytes = client.read(sizeBytes) as Buffer | null
        if (bytes !== null) return bytes
        await once(client, 'readable')
      }
    }
    const text = async (): Promise<string> => (await next((await next(1)).readUInt8())).toString()
    void (async () => {
      const methods = await next((await next(2)).readUInt8(1))
      let credentials = ''
      client.write(Uint8Array.of(5, methods.includes(2) ? 2 : 0))
      if (methods.includes(2)) {
        await next(1)
        credentials = ` ${await text()}:${await text()}`
        client.write(Uint8Array.of(1, credentials.endsWith(':wrong') ? 1 : 0))
      }
      const type = (await next(4)).readUInt8(3)
      const address =
        type === 3
          ? await text()
          : type === 1
            ? [...(await next(4))].join('.')
            : (await next(16)).toString('hex')
      const port = (await next(2)).readUInt16BE()
      seen.push(`${type} ${address}:${port}${credentials}`)
      const target = connect(port, '127.0.0.1', () => {
        client.write(Uint8Array.of(5, 0, 0, 3, 2, 97, 98, 0, 1))
        connectBoth(client, target)
      })
      target.on('error', () => client.end(Uint8Array.of(5, 5, 0, 1, 0, 0, 0, 0, 0, 0)))
    })().catch(() => client.destroy())
  })
  return { port: await listen(t, server), seen }
}

async function get(options: HttpClientOptions): Promise<string> {
  await using client = connectHttp(options)
  const answers = await Promise.all(
    ['/one', '/two'].map(async path => {
      const { body } = await client.request({ method: 'GET', path, headers: {} })
      return Buffer.concat(await Array.fromAsync(body)).toString()
    }),
  )
  return answers.join(' ')
}

test('requests over HTTP/1.1 and HTTP/2 and upgrades pass every kind of proxy', async t => {
  const answer = (request: { url?: string | undefined; httpVersion: string }): string =>
    `${request.httpVersion}${request.url}`
  const secure = { cert: certificate.cert, key: certificate.key } as object
  const plain = createHttpServer((request, response) => void response.end(answer(request)))
  plain.on('upgrade', (_request, socket: Duplex) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n')
    socket.on('error', () => undefined).pipe(socket)
  })
  const http1 = createHttpsServer(secure, (request, response) => void response.end(answer(request)))
  const http2 = createSecureServer(secure, (request, response) => void response.end(answer(request)))
  const ports = {
    plain: await listen(t, plain),
    http1: await listen(t, http1),
    http2: await listen(t, http2),
  }
  const proxies = {
    http: await startHttpProxy(t, false),
    socks5: await startSocksProxy(t),
  }
  for (const [scheme, { port, seen }] of Object.entries(proxies)) {
    for (const credentials of ['', 'me:p%40ss@']) {
      const proxy = `${scheme}://${credentials}127.0.0.1:${port}`
      assert.equal(await get({ origin: `http://127.0.0.1:${ports.plain}`, proxy }), '1.1/one 1.1/two')
      assert.equal(await get({ origin: `https://127.0.0.1:${ports.http1}`, tls, proxy }), '1.1/one 1.1/two')
      assert.equal(await get({ origin: `https://127.0.0.1:${ports.http2}`, tls, proxy }), '2.0/one 2.0/two')
      const expected = credentials === '' ? '' : ' me:p@ss'
      assert.ok(seen.length > 2 && seen.every(each => each.endsWith(expected)), String(seen))
      await using client = connectHttp({ origin: `http://127.0.0.1:${ports.plain}`, proxy })
      const upgrade = await client.upgrade({ method: 'GET', path: '/', headers: { upgrade: 'echo' } })
      assert.ok(upgrade.type === 'upgraded')
      upgrade.connection.write('hello')
      assert.equal(String((await once(upgrade.connection, 'data'))[0]), 'hello')
      upgrade.connection.destroy()
      seen.length = 0
    }
  }
})

test('names are resolved by the proxy, and addresses of both families are passed', async t => {
  const origin = createHttpServer((_request, response) => void response.end('x'))
  const port = await listen(t, origin)
  const socks = await startSocksProxy(t)
  const http = await startHttpProxy(t, false)
  for (const host of ['backend.test', '127.0.0.1', '[2001:db8::1:2]'])
    assert.equal(
      await get({ origin: `http://${host}:${port}`, proxy: `socks5://127.0.0.1:${socks.port}` }),
      'x x',
    )
  assert.deepEqual(
    [...new Set(socks.seen)],
    [`3 backend.test:${port}`, `1 127.0.0.1:${port}`, `4 20010db8000000000000000000010002:${port}`],
  )
  assert.equal(
    await get({ origin: `http://backend.test:${port}`, proxy: `http://127.0.0.1:${http.port}` }),
    'x x',
  )
  assert.deepEqual([...new Set(http.seen)], [`backend.test:${port}`])
})

test('the certificate of an HTTPS proxy is verified', async t => {
  const { port, seen } = await startHttpProxy(t, true)
  await assert.rejects(get({ origin: 'http://127.0.0.1:1', proxy: `https://127.0.0.1:${port}` }), {
    reason: 'unreachable',
    message: /certificate/,
  })
  assert.deepEqual(seen, [])
})

test('what a proxy refuses or does wrong makes the server unreachable', async t => {
  const closed = createServer()
  const closedPort = await listen(t, closed)
  closed.close()
  const check = async (proxy: string, message: RegExp, { isSilent = false } = {}): Promise<void> => {
    const origin = `http://127.0.0.1:${closedPort}`
    for (const target of [origin, origin.replace('http:', 'https:')]) {
      const options = { origin: target, tls, proxy, ...(isSilent && { connectTimeoutMs: 50 }) }
      await assert.rejects(get(options), { reason: 'unreachable', sent: false, message })
      await using client = connectHttp(options)
      await assert.rejects(client.upgrade({ method: 'GET', path: '/' }), { reason: 'unreachable', message })
    }
  }
  const answering = async (bytes: string | Uint8Array, scheme: string, ends = true): Promise<string> => {
    const server = createServer(socket => {
      socket.on('error', () => undefined).on('data', () => undefined)
      socket.write(bytes)
      if (ends) socket.end()
    })
    return `${scheme}://127.0.0.1:${await listen(t, server)}`
  }
  await check(`http://127.0.0.1:${closedPort}`, /ECONNREFUSED/)
  await check(`http://127.0.0.1:${(await startHttpProxy(t, false)).port}`, /Bad Gateway/)
  const socks = await startSocksProxy(t)
  await check(`socks5://127.0.0.1:${socks.port}`, /connection refused/)
  await check(`socks5://me:wrong@127.0.0.1:${socks.port}`, /authentication failed/)
  await check(
    await answering('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n', 'http'),
    /Proxy Authentication Req/,
  )
  await check(await answering('hello', 'http'), /EOF/)
  await check(await answering('hello\r\n\r\n', 'http'), /invalid response/)
  await check(await answering(`HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(20_000)}`, 'http'), /invalid response/)
  await check(await answering('', 'http', false), /timed out/, { isSilent: true })
  await check(await answering(Uint8Array.of(4, 0), 'socks5'), /unexpected protocol version 4/)
  await check(await answering(Uint8Array.of(5, 255), 'socks5'), /no acceptable authentication methods/)
  await check(await answering(Uint8Array.of(5, 0, 5, 9, 0, 1), 'socks5'), /unknown code: 9/)
  await check(await answering(Uint8Array.of(5, 0, 5, 0, 0, 3, 200), 'socks5'), /EOF/)
})

test('aborting ends the wait for a proxy', async t => {
  const silent = createTlsServer()
  const port = await listen(t, silent)
  for (const scheme of ['http', 'https', 'socks5']) {
    await using client = connectHttp({
      origin: 'https://127.0.0.1:1',
      proxy: `${scheme}://127.0.0.1:${port}`,
    })
    const controller = new AbortController()
    const upgrading = client.upgrade({ method: 'GET', path: '/', signal: controller.signal })
    controller.abort(new Error('enough'))
    await assert.rejects(upgrading, /enough/)
  }
})
