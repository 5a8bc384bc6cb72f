/** The proxy subresources of pods, services and nodes. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { buffer } from 'node:stream/consumers'
import { connect as connectHttp2 } from 'node:http2'
import { request as requestTls, type RequestOptions } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { after, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { pods, services } from '#/api/generated/core/v1-resources.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import { kubectl } from './kubectl.ts'
import { certificateOf } from './raw-upgrade.ts'
import { StreamingCluster } from './streaming-cluster.ts'

/** From the documentation range: unused, and local to this machine. */
const address = `192.0.2.${1 + (process.pid % 250)}`

const skip = process.getuid?.() !== 0 && 'an address of its own needs root'

describe('proxy', { skip }, async () => {
  if (skip) return
  execFileSync('ip', ['address', 'replace', `${address}/32`, 'dev', 'lo'])
  after(() => void execFileSync('ip', ['address', 'del', `${address}/32`, 'dev', 'lo']))
  const cluster = await StreamingCluster.start({ after }, { address })
  const { client, certificates } = cluster
  const identity = await certificateOf(cluster, 'kubernetes-admin', ['system:masters'])
  const backend = await startBackend(createServer())
  const secure = await startBackend(createTlsServer({ ...certificates.apiServer }))
  const httpPort = portOf(backend)

  const makePod = async (name: string, podIP = address): Promise<void> => {
    const created = await client.create(pods, {
      metadata: { namespace: 'default', name },
      spec: {
        containers: [{ name: 'main', image: 'x', ports: [{ name: 'web', containerPort: httpPort }] }],
      },
    })
    await client.updateStatus(pods, { ...created, status: { podIP, podIPs: [{ ip: podIP }] } })
  }
  await makePod('web')
  const ask = (
    path: string,
    options: Partial<RequestOptions> & { body?: Uint8Array } = {},
  ): Promise<Answer> =>
    send({
      port: cluster.server.address.port,
      ca: certificates.ca.cert,
      ...identity,
      path,
      ...options,
    })
  const web = '/api/v1/namespaces/default/pods/web/proxy'

  test('the proxy passes requests to a pod and returns its response', async () => {
    const headers = {
      'accept': 'text/html',
      'authorization': 'Bearer secret',
      'x-mine': 'yes',
      'te': 'trailers',
    }
    const { status, text, headers: got } = await ask(`${web}/echo/a%2Fb?x=1&y=%20&z`, { headers })
    assert.equal(status, 200)
    const seen = JSON.parse(text) as Seen
    assert.deepEqual([seen.method, seen.url], ['GET', '/echo/a%2Fb?x=1&y=%20&z'])
    assert.equal(seen.headers['x-mine'], 'yes')
    assert.equal(seen.headers['accept'], 'text/html')
    assert.equal(seen.headers['authorization'], undefined)
    assert.equal(seen.headers['te'], undefined)
    assert.equal(seen.headers['x-forwarded-for'], '127.0.0.1')
    assert.equal(seen.headers['x-forwarded-uri'], `${web}/echo/a%2Fb`)
    assert.deepEqual(got['set-cookie'], ['a=1', 'b=2'])
    assert.equal(got['access-control-allow-origin'], undefined)
  })

  test('the proxy passes every method with a streamed body', async () => {
    const body = randomBytes(20_000_000)
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const { status, text } = await ask(`${web}/sum`, { method, body })
      assert.deepEqual([status, text], [200, `${method} ${sum(body)}`])
    }
    assert.equal((await ask(`${web}/echo`, { method: 'OPTIONS' })).status, 200)
    const head = await ask(`${web}/echo`, { method: 'HEAD' })
    assert.deepEqual([head.status, head.text], [200, ''])
    const empty = await ask(`${web}/echo`, { method: 'POST' })
    assert.equal((JSON.parse(empty.text) as Seen).headers['transfer-encoding'], undefined)
  })

  test('the proxy passes large responses completely and interrupted ones as interrupted', async () => {
    const { body } = await ask(`${web}/large`)
    assert.equal(sum(body), sum(Buffer.alloc(30_000_000, 'x')))
    await assert.rejects(ask(`${web}/cut`), /aborted|ECONNRESET/)
    assert.equal((await ask(`${web}/nothing`)).status, 204)
    assert.equal((await ask(`${web}/teapot`)).status, 418)
  })

  test('the proxy rewrites redirects and links to its own path', async () => {
    const root = await ask(`${web}?x=1`)
    assert.deepEqual([root.status, root.headers.location], [301, `${web}/?x=1`])
    const moved = await ask(`${web}/moved`)
    assert.deepEqual([moved.status, moved.headers.location], [302, `${web}/elsewhere`])
    const away = await ask(`${web}/away`)
    assert.equal(away.headers.location, 'https://example.com/')
    const expected = `<a href="${web}/x">x</a><a href="y">y</a>\xe9`
    assert.equal((await ask(`${web}/page`)).body.toString('latin1'), expected)
    const zipped = await ask(`${web}/zipped`)
    assert.deepEqual(
      [zipped.headers['content-encoding'], zipped.body.toString('latin1')],
      [undefined, expected],
    )
    const data = await ask(`${web}/gzip-data`)
    assert.equal(data.headers['content-encoding'], 'gzip')
    assert.deepEqual(data.body, gzipSync('data'))
  })

  test('proxy paths name ports by number or name, with and without TLS', async () => {
    const base = '/api/v1/namespaces/default/pods'
    assert.equal((await ask(`${base}/web:${httpPort}/proxy/echo`)).status, 200)
    assert.equal((await ask(`${base}/web:web/proxy/echo`)).status, 200)
    assert.equal((await ask(`${base}/http:web:web/proxy/echo`)).status, 200)
    assert.equal((await ask(`${base}/https:web:${portOf(secure)}/proxy/echo`)).status, 200)
    assert.equal((await ask(`${base}/ftp:web:80/proxy/echo`)).status, 400)
    assert.equal((await ask(`${base}/web:nothing/proxy/echo`)).status, 503)
    const refused = await ask(`${base}/web:1/proxy/`)
    assert.equal(refused.status, 503)
    assert.match(refused.text, /error trying to reach service/)
    await makePod('inner', '127.0.0.1')
    const inner = await ask(`${base}/inner/proxy/echo`)
    assert.deepEqual([inner.status, /address not allowed/.test(inner.text)], [400, true])
  })

  test('the proxy passes an upgrade and streams in both directions', async () => {
    const socket = await upgrade(cluster, identity, `${web}/upgrade`)
    socket.write('hello')
    const [first] = (await once(socket, 'data')) as [Buffer]
    assert.equal(first.toString(), 'HELLO')
    socket.end()
    await once(socket, 'close')
  })

  test('the proxy of a service reaches one of its endpoints', async () => {
    const base = '/api/v1/namespaces/default/services'
    await client.create(services, {
      metadata: { namespace: 'default', name: 'web' },
      spec: { clusterIP: 'None', ports: [{ name: 'http', port: 80, targetPort: httpPort }] },
    })
    const none = await ask(`${base}/web:80/proxy/echo`)
    assert.equal(none.status, 503)
    assert.match(none.text, /no endpoints available for service \\"web:80\\"/)
    const slice = (name: string, pod: string, podAddress: string) => ({
      metadata: { namespace: 'default', name, labels: { 'kubernetes.io/service-name': 'web' } },
      addressType: 'IPv4',
      ports: [{ name: 'http', port: httpPort, protocol: 'TCP' }],
      endpoints: [{ addresses: [podAddress], targetRef: { kind: 'Pod', namespace: 'default', name: pod } }],
    })
    await client.create(endpointSlices, slice('web-1', 'web', '198.51.100.7'))
    assert.equal((await ask(`${base}/web:80/proxy/echo`)).status, 503)
    await client.create(endpointSlices, slice('web-2', 'web', address))
    assert.equal((await ask(`${base}/web:80/proxy/echo`)).status, 200)
    assert.equal((await ask(`${base}/web:http/proxy/echo`)).status, 200)
    assert.equal((await ask(`${base}/http:web:http/proxy/echo`, { method: 'POST' })).status, 200)
    assert.match((await ask(`${base}/web:81/proxy/`)).text, /no service port 81 found for service/)
    assert.equal((await ask(`${base}/nobody/proxy/`)).status, 404)
  })

  test('the proxy of a node reaches its kubelet or another port', async () => {
    const { status, text } = await ask('/api/v1/nodes/node-0/proxy/healthz')
    assert.deepEqual([status, text], [200, 'ok'])
    const summary = await kubectl(cluster, ['get', '--raw', '/api/v1/nodes/node-0/proxy/stats/summary'])
    assert.equal((JSON.parse(summary.stdout) as { node: { nodeName: string } }).node.nodeName, 'node-0')
    const { port } = cluster.kubelet.address
    assert.equal((await ask(`/api/v1/nodes/node-0:${port}/proxy/pods`)).status, 200)
    assert.equal((await ask(`/api/v1/nodes/node-0:${httpPort}/proxy/echo`)).status, 200)
    assert.equal((await ask('/api/v1/nodes/nobody/proxy/')).status, 404)
  })

  test('the proxy streams bodies in both directions over HTTP/2', async () => {
    const session = connectHttp2(cluster.url, { ca: certificates.ca.cert, ...identity })
    const stream = session.request({ ':method': 'POST', ':path': `${web}/sum` })
    const body = randomBytes(2_000_000)
    stream.end(body)
    assert.equal((await buffer(stream)).toString(), `POST ${sum(body)}`)
    session.close()
  })
})

interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string | undefined>>
}

async function startBackend(server: Server): Promise<Server> {
  server.on(
    'request',
    (request: IncomingMessage, response: ServerResponse) => void respond(request, response),
  )
  server.on('upgrade', (_request: IncomingMessage, socket: Duplex) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: shout\r\n\r\n')
    socket.on('data', (piece: Buffer) => socket.write(piece.toString().toUpperCase()))
    socket.on('end', () => socket.end())
    socket.on('error', () => undefined)
  })
  server.listen(0, address)
  await once(server, 'listening')
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  return server
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port
}

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method, url = '', headers } = request
  const page = Buffer.from('<a href="/x">x</a><a href="y">y</a>\xe9', 'latin1')
  switch (url.replace(/^\/([^/?]*).*$/, '$1')) {
    case 'sum':
      return void response.end(`${method} ${sum(await buffer(request))}`)
    case 'large':
      return void response.end(Buffer.alloc(30_000_000, 'x'))
    case 'cut':
      return void response.writeHead(200, { 'content-length': 1_000 }).write('some', () => response.destroy())
    case 'nothing':
      return void response.writeHead(204).end()
    case 'teapot':
      return void response.writeHead(418).end('short and stout')
    case 'moved':
      return void response.writeHead(302, { location: '/elsewhere' }).end()
    case 'away':
      return void response.writeHead(302, { location: 'https://example.com/' }).end()
    case 'page':
      return void response.writeHead(200, { 'content-type': 'text/html' }).end(page)
    case 'zipped':
      return void response
        .writeHead(200, { 'content-type': 'text/html; charset=latin1', 'content-encoding': 'gzip' })
        .end(gzipSync(page))
    case 'gzip-data':
      return void response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('data'))
    default:
      response.writeHead(200, { 'set-cookie': ['a=1', 'b=2'], 'access-control-allow-origin': '*' })
      response.end(JSON.stringify({ method, url, headers }))
  }
}

interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
  readonly text: string
}

async function send({ body, ...options }: RequestOptions & { body?: Uint8Array }): Promise<Answer> {
  const request = requestTls({ host: '127.0.0.1', agent: false, ...options })
  // Some methods use chunked encoding, the others Content-Length: both must be forwarded.
  if (options.method === 'PUT' || options.method === 'DELETE')
    request.setHeader('transfer-encoding', 'chunked')
  request.end(body)
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  const received = await buffer(response)
  return {
    status: response.statusCode!,
    headers: response.headers,
    body: received,
    text: received.toString(),
  }
}

async function upgrade(cluster: StreamingCluster, identity: object, path: string): Promise<Duplex> {
  const ca = cluster.certificates.ca.cert
  const { port } = cluster.server.address
  const headers = { connection: 'Upgrade', upgrade: 'shout' }
  const request = requestTls({ host: '127.0.0.1', port, ca, ...identity, agent: false, path, headers })
  request.end()
  const [response, socket] = (await once(request, 'upgrade')) as [IncomingMessage, Duplex]
  assert.equal(response.headers.upgrade, 'shout')
  return socket
}

function sum(bytes: Uint8Array): string {
  return `${bytes.length} ${createHash('sha256').update(bytes).digest('hex')}`
}
