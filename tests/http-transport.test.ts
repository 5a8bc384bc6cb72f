/** The client over real connections: TLS, HTTP/2 and HTTP/1.1 on loopback, with network failures. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import {
  constants,
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from 'node:http2'
import { createServer as createHttpsServer } from 'node:https'
import { connect as connectSocket, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test, type TestContext } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { gzipSync } from 'node:zlib'
import { configMaps } from '#/api/generated/core/v1-resources.ts'
import { clientOf, type Client } from '#/client/client.ts'
import { openConnection, type ConnectionSettings } from '#/client/connection.ts'
import { loadKubeconfig, settingsOf } from '#/kubeconfig/kubeconfig.ts'
import { TransportError } from '#/client/transport.ts'
import type { GrpcTls } from '#/platform/grpc.ts'
import { connectHttp, nodePlatform } from '#/platform/node.ts'
import type { HttpClientOptions } from '#/platform/http-client.ts'
import { makeCertificates } from './etcd/certificates.ts'
import { temporaryFolder } from './temporary-folder.ts'
import { waitUntil, waitUntilStable } from './wait-until.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
/** Certificates are slow to create; all servers of this file share them. */
const folder = await mkdtemp(join(tmpdir(), 'k8ts-test-'))
after(() => rm(folder, { recursive: true, force: true }))
const certificates = await makeCertificates(folder)
const at = { namespace: 'default', name: 'web' }
const path = '/api/v1/namespaces/default/configmaps/web'

test('concurrent HTTP/2 requests share one connection', async t => {
  const { client, server } = await start(t, (request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(
      JSON.stringify({ kind: 'ConfigMap', data: { version: request.httpVersion, url: request.url } }),
    )
  })
  const answers = await Promise.all(Array.from({ length: 50 }, () => client.get(configMaps, at)))
  assert.ok(answers.every(({ data }) => data?.['version'] === '2.0' && data['url'] === path))
  assert.equal(server.sessions.size, 1)
})

test('the client falls back to HTTP/1.1', async t => {
  const { cert, key } = certificates.client
  const server = createHttpsServer({ cert, key } as object, (request, response) => {
    response.end(JSON.stringify({ data: { version: request.httpVersion } }))
  })
  t.after(() => server.closeAllConnections())
  const port = await listen(t, server)
  const client = await connect(t, {
    server: `https://127.0.0.1:${port}`,
    ca: { data: certificates.client.ca! },
  })
  assert.equal((await client.get(configMaps, at)).data?.['version'], '1.1')
  assert.equal((await client.get(configMaps, at)).data?.['version'], '1.1')
})

test('the client verifies the CA and the name of the server certificate', async t => {
  const { settings } = await start(t, (_request, response) => void response.end('{"data":{}}'))
  const other = await makeCertificates(await temporaryFolder(t))
  const check = async (changes: Partial<ConnectionSettings>, isFine: boolean): Promise<void> => {
    const { ca: _ca, ...rest } = settings
    const client = await connect(t, { ...rest, ...changes })
    if (isFine) await client.get(configMaps, at)
    else await assert.rejects(client.get(configMaps, at), failsWith('unreachable'))
  }
  const ca = { data: certificates.client.ca! }
  await check({ ca }, true)
  await check({ ca: { data: certificates.client.cert! } }, true)
  await check({}, false)
  await check({ ca: { data: other.client.ca! } }, false)
  await check({ ca, serverName: 'kubernetes' }, false)
  await check({ insecureSkipVerify: true }, true)
})

test('the client sends the certificate and the token of a kubeconfig', async t => {
  const { settings } = await start(t, (request, response) => {
    const { subject } = (request.stream.session!.socket as TLSSocket).getPeerCertificate()
    response.end(JSON.stringify({ data: { name: subject.CN, token: request.headers.authorization ?? '' } }))
  })
  const { files } = certificates
  const folder = await temporaryFolder(t)
  await writeFile(
    join(folder, 'config'),
    `
current-context: x
contexts: [{name: x, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: '${settings.server}', certificate-authority: '${files.ca}'}}]
users: [{name: u, user: {client-certificate: '${files.cert}', client-key: '${files.key}', token: secret}}]
`,
  )
  const kubeconfig = await loadKubeconfig(platform, {
    explicitPath: join(folder, 'config'),
    environment: {},
    workingFolder: '/',
  })
  const client = await connect(t, settingsOf(kubeconfig)!)
  assert.deepEqual((await client.get(configMaps, at)).data, { name: 'test', token: 'Bearer secret' })
})

test('after 401 a token file is read again, once', async t => {
  const folder = await temporaryFolder(t)
  const file = join(folder, 'token')
  await writeFile(file, 'old')
  const tokens: unknown[] = []
  const { settings } = await start(t, (request, response) => {
    tokens.push(request.headers.authorization)
    response.statusCode = request.headers.authorization === 'Bearer new' ? 200 : 401
    response.end('{"data":{}}')
  })
  const client = await connect(t, { ...settings, user: { token: { file } } })
  await assert.rejects(client.get(configMaps, at), { code: 401 })
  await writeFile(file, 'new')
  await client.get(configMaps, at)
  assert.deepEqual(tokens, ['Bearer old', 'Bearer old', 'Bearer old', 'Bearer new'])
})

test('connections move to a new certificate and key when their common file is replaced', async t => {
  const other = await makeCertificates(await temporaryFolder(t))
  const [first, second] = [certificates.client, other.client]
  const fingerprints: string[] = []
  const { settings, server } = await start(t, (request, response) => {
    const { fingerprint256 } = (request.stream.session!.socket as TLSSocket).getPeerCertificate()
    fingerprints.push(fingerprint256)
    if (request.url?.includes('watch')) return void response.write(eventLine('1'))
    response.statusCode = fingerprint256 === fingerprints[0] && fingerprints.length > 2 ? 401 : 200
    response.end('{"data":{}}')
  })
  const file = join(await temporaryFolder(t), 'kubelet-client-current.pem')
  await writeFile(file, pemOf(first))
  const user = { certificate: { cert: { file }, key: { file } } }
  const client = await connect(t, { ...settings, user })
  const watch = client.watch(configMaps)[Symbol.asyncIterator]()
  await watch.next()
  await client.get(configMaps, at)
  await writeFile(file, pemOf(second))
  // The file is read again after a 401, or after a minute.
  await client.get(configMaps, at)
  const [old, , , moved] = fingerprints
  assert.deepEqual(fingerprints, [old, old, old, moved])
  assert.notEqual(moved, old)
  assert.equal(server.sessions.size, 2, 'the watch finishes on the old connection')
  await watch.return?.()
  await waitUntil(() => server.sessions.size === 1)
})

test('responses are compressed, watches are not', async t => {
  const accepted: unknown[] = []
  const { client, settings } = await start(t, (request, response) => {
    accepted.push(request.headers['accept-encoding'])
    response.setHeader('content-encoding', 'gzip')
    const body = JSON.stringify({ metadata: { resourceVersion: '1' }, items: [] })
    response.end(request.url?.includes('broken') ? 'not gzip' : gzipSync(body))
  })
  assert.deepEqual((await client.list(configMaps)).items, [])
  await assert.rejects(client.list(configMaps, { namespace: 'broken' }), failsWith('invalid-response'))
  const plain = await connect(t, { ...settings, disableCompression: true })
  await plain.list(configMaps)
  const events = client.watch(configMaps)[Symbol.asyncIterator]()
  await events.next().catch(() => undefined)
  assert.deepEqual(accepted, ['gzip', 'gzip', 'identity', 'identity'])
})

test('watches that use all streams of a connection do not block other requests', async t => {
  const { client, server } = await start(
    t,
    (request, response) => {
      if (request.url?.includes('watch')) response.write(eventLine('1'))
      else response.end('{"data":{}}')
    },
    { settings: { maxConcurrentStreams: 5 } },
  )
  const watches = Array.from({ length: 23 }, () => client.watch(configMaps)[Symbol.asyncIterator]())
  await Promise.all(watches.map(watch => watch.next()))
  await Promise.all(Array.from({ length: 20 }, () => client.get(configMaps, at)))
  assert.ok(server.sessions.size >= 5 && server.sessions.size <= 10, `${server.sessions.size} connections`)
  await Promise.all(watches.map(async watch => watch.return?.()))
})

test('a watch yields events as they arrive, throws when its connection breaks, and can be restarted', async t => {
  let sendSecond = (): void => undefined
  const { client, server } = await start(t, (_request, response) => {
    response.write(eventLine('1').slice(0, 20), () => response.write(eventLine('1').slice(20)))
    sendSecond = () => void response.write(eventLine('2'))
  })
  for (const session of [1, 2]) {
    const seen: unknown[] = []
    await assert.rejects(
      async () => {
        for await (const { object } of client.watch(configMaps)) {
          seen.push(object.metadata.resourceVersion)
          if (seen.length === 1) sendSecond()
          if (seen.length === 2) for (const each of server.sessions) each.destroy()
        }
      },
      failsWith('interrupted'),
      `session ${session}`,
    )
    assert.deepEqual(seen, ['1', '2'])
  }
})

test('a response that is reset midway fails as interrupted', async t => {
  const { client } = await start(t, (request, response) => {
    const code = request.url?.includes('cancel') ? constants.NGHTTP2_CANCEL : constants.NGHTTP2_INTERNAL_ERROR
    response.write('{"metadata":{},', () => response.stream.close(code))
  })
  await assert.rejects(client.list(configMaps), failsWith('interrupted'))
  await assert.rejects(client.list(configMaps, { namespace: 'cancel' }), failsWith('interrupted'))
})

test('after GOAWAY the client uses a new connection and loses no request', async t => {
  let count = 0
  const waiting: Http2ServerResponse[] = []
  const { client, server } = await start(t, (_request, response) => {
    count++
    waiting.push(response)
  })
  for (let round = 0; round < 10; round++) {
    const requests = Array.from({ length: 10 }, () => client.get(configMaps, at))
    for (const session of server.sessions) session.close()
    await waitUntil(() => waiting.length === requests.length)
    for (const response of waiting.splice(0)) response.end('{"data":{}}')
    await Promise.all(requests)
  }
  assert.equal(count, 100)
})

test('a connection without ping responses is closed', async t => {
  const { settings, server } = await start(t, (_request, response) => void response.write(eventLine('1')))
  const hole = await blackHole(t, Number(new URL(settings.server).port))
  const keepalive = { intervalMs: 40, timeoutMs: 1_000 }
  const client = await connect(t, { ...settings, server: `https://127.0.0.1:${hole.port}` }, { keepalive })
  const watch = client.watch(configMaps)[Symbol.asyncIterator]()
  await watch.next()
  // The watch stays open while pings are answered.
  const next = watch.next()
  next.catch(() => undefined)
  let pings = 0
  for (const session of server.sessions) session.on('ping', () => pings++)
  await waitUntil(() => pings >= 3)
  hole.swallow()
  await assert.rejects(
    next,
    error => failsWith('interrupted')(error) && /no ping response/.test(String(error)),
  )
})

test('large requests and unread responses of a connection do not refuse others', async t => {
  const { client } = await start(t, (request, response) => {
    response.setHeader('content-type', 'application/json')
    // Does not read the bodies of POST requests.
    if (request.method === 'POST') return
    response.end(JSON.stringify({ kind: 'ConfigMap', data: { url: request.url } }))
  })
  const stop = new AbortController()
  const data = { text: 'x'.repeat(3_000_000) }
  const pending = Array.from({ length: 20 }, (_, index) => {
    const object = { metadata: { ...at, name: `large-${index}` }, data }
    return client.create(configMaps, object, { signal: stop.signal }).catch(() => undefined)
  })
  const answers = await Promise.all(Array.from({ length: 20 }, () => client.get(configMaps, at)))
  assert.ok(answers.every(answer => answer.data?.['url'] === path))
  stop.abort()
  await Promise.all(pending)
})

test('an unread response applies backpressure, and leaving it closes the stream', async t => {
  let sentBytes = 0
  let isClosed = false
  const { client } = await start(t, (_request, response) => {
    const piece = Buffer.alloc(65_536, 'x')
    const send = (): void => {
      while (!isClosed && response.write(piece)) sentBytes += piece.length
    }
    response.on('drain', send)
    response.stream.once('close', () => {
      isClosed = true
    })
    send()
  })
  const response = await client.raw({ method: 'GET', path: '/logs' })
  for await (const _piece of response.bytes()) {
    await waitUntilStable(() => sentBytes)
    assert.ok(sentBytes < 20_000_000, `${sentBytes} bytes`)
    break
  }
  await waitUntil(() => isClosed)
})

test('a request times out when the server does not answer or complete the handshake', async t => {
  const { client } = await start(t, () => undefined)
  await assert.rejects(client.get(configMaps, at, { timeoutMs: 50 }), failsWith('timeout'))
  const silent = createServer(() => undefined)
  const port = await listen(t, silent)
  const mute = await connect(t, { server: `https://127.0.0.1:${port}` }, { connectTimeoutMs: 50 })
  await assert.rejects(mute.get(configMaps, at), failsWith('unreachable'))
  const rude = createServer(socket => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
  const rudePort = await listen(t, rude)
  await assert.rejects(
    (await connect(t, { server: `https://127.0.0.1:${rudePort}` })).get(configMaps, at),
    failsWith('unreachable'),
  )
})

interface Started {
  readonly client: Client
  readonly settings: ConnectionSettings
  readonly server: { readonly sessions: ReadonlySet<ServerHttp2Session> }
}

type Answer = (request: Http2ServerRequest, response: Http2ServerResponse) => void

async function start(t: TestContext, answer: Answer, options: object = {}): Promise<Started> {
  const { ca, cert, key } = certificates.client
  const tls = { ca, cert, key, requestCert: true, rejectUnauthorized: false } as object
  const server: Http2SecureServer = createSecureServer({ ...tls, allowHTTP1: true, ...options }, answer)
  const sessions = new Set<ServerHttp2Session>()
  server.on('session', session => {
    sessions.add(session)
    session.once('close', () => sessions.delete(session))
    session.on('error', () => undefined)
  })
  server.on('stream', stream => stream.on('error', () => undefined))
  t.after(() => {
    for (const session of sessions) session.destroy()
  })
  const port = await listen(t, server)
  const settings = { server: `https://127.0.0.1:${port}`, ca: { data: ca! }, namespace: 'default', user: {} }
  return { client: await connect(t, settings), settings, server: { sessions } }
}

async function connect(
  t: TestContext,
  settings: Partial<ConnectionSettings> & {
    readonly server: string
  },
  options: Partial<HttpClientOptions> = {},
): Promise<Client> {
  const transport = await openConnection({
    platform,
    connect: given => connectHttp({ ...given, ...options }),
    settings: { namespace: 'default', user: {}, ...settings },
  })
  t.after(() => transport[Symbol.asyncDispose]())
  return clientOf({ platform, transport, userAgent: 'test' })
}

async function listen(t: TestContext, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return (server.address() as AddressInfo).port
}

/** A proxy that forwards everything until told to drop all data; the connections stay open. */
async function blackHole(t: TestContext, target: number): Promise<{ port: number; swallow: () => void }> {
  const sockets = new Set<Socket>()
  let isOpen = true
  const server = createServer(near => {
    const far = connectSocket(target, '127.0.0.1')
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('data', piece => isOpen && to.write(piece))
      from.on('error', () => undefined)
    }
  })
  t.after(() => sockets.forEach(socket => socket.destroy()))
  return {
    port: await listen(t, server),
    swallow: () => {
      isOpen = false
    },
  }
}

function eventLine(version: string): string {
  const object = {
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: { namespace: 'a', name: 'b', resourceVersion: version },
  }
  return `${JSON.stringify({ type: 'MODIFIED', object })}\n`
}

function failsWith(reason: string): (error: unknown) => boolean {
  return error => error instanceof TransportError && error.reason === reason
}

/** Certificate and key in one file. */
function pemOf({ cert = '', key = '' }: GrpcTls): Buffer {
  return Buffer.concat([Buffer.from(cert), Buffer.from(key)])
}
