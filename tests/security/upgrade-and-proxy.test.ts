/**
 * Upgrade and proxy requests without a reachable kubelet or pod are rejected safely. Successful ones are
 * tested in `tests/streaming/`.
 */
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { once } from 'node:events'
import { after, describe, test, type TestContext } from 'node:test'
import { ApiServer } from '#/apiserver/api-server.ts'
import { connectHttp, nodePlatform } from '#/platform/node.ts'
import type { Log } from '#/platform/platform.ts'
import { MemoryStore } from '#/store/memory.ts'
import { accessTo, openSocket, RawClient, type Access } from '../apiserver/raw-client.ts'
import { clusterForFile } from '../clients/cluster.ts'
import { waitUntil } from '../wait-until.ts'
import { pod } from './users.ts'

/** A server that records its requests. There should be none. */
async function trap(): Promise<{
  readonly server: Server
  readonly port: number
  readonly visits: string[]
}> {
  const visits: string[] = []
  const server = createServer((request, response) => {
    visits.push(`${request.method} ${request.url} ${request.headers.authorization ?? ''}`)
    response.end('{}')
  })
  server.on('upgrade', (request, socket) => {
    visits.push(`upgrade ${request.url}`)
    socket.destroy()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, port: (server.address() as AddressInfo).port, visits }
}

/** A connection without a client certificate. */
async function openAnonymously({ port, tls: { ca } }: Access): Promise<TLSSocket> {
  const socket = connectTls({ host: '127.0.0.1', port, ca, ALPNProtocols: ['http/1.1'] })
  socket.on('error', () => undefined)
  await once(socket, 'secureConnect')
  return socket
}

/** The server's output for these parts and a last request, after which it closes the connection. */
async function talk(socket: TLSSocket, ...parts: readonly string[]): Promise<string> {
  let said = ''
  socket.on('data', chunk => {
    said += chunk.toString()
  })
  for (const part of parts) {
    const before = said.length
    if (socket.writable) socket.write(part)
    await waitUntil(() => said.length > before || socket.destroyed)
  }
  if (socket.writable) socket.write(`${secretsRequest}connection: close\r\n\r\n`)
  await waitUntil(() => socket.destroyed)
  return said
}

const secretsRequest = 'GET /api/v1/secrets HTTP/1.1\r\nhost: x\r\n'

const upgrades = {
  'SPDY/3.1': 'upgrade: SPDY/3.1\r\nx-stream-protocol-version: v4.channel.k8s.io\r\n',
  'websocket':
    'upgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n',
  'h2c': 'upgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n',
}

const web = '/api/v1/namespaces/default/pods/web'
const asking = [
  `GET ${web}/exec?command=id&stdout=1`,
  `POST ${web}/exec?command=id&stdout=1`,
  `GET ${web}/attach?stdout=1`,
  `GET ${web}/portforward?ports=80`,
  `GET ${web}/proxy/`,
  'GET /api/v1/namespaces/default/services/kubernetes/proxy/',
  'GET /api/v1/nodes/n1/proxy/exec/default/web/main',
  'GET /apis/metrics.k8s.io/v1beta1/pods',
  'GET /api/v1/namespaces/default/secrets',
  'GET /version',
]

describe('a running cluster', async () => {
  const cluster = await clusterForFile()
  const access = await accessTo(cluster)
  const client = await RawClient.open(access)
  after(() => client[Symbol.dispose]())
  const visited = await trap()
  after(() => visited.server.close())
  const make = async (path: string, object: object): Promise<void> => {
    const outcome = await client.ask({
      method: 'POST',
      path,
      type: 'application/json',
      body: JSON.stringify(object),
    })
    assert.ok('status' in outcome && outcome.status === 201, JSON.stringify(outcome))
  }
  await make('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'web' } })
  await make('/api/v1/namespaces/default/pods', pod('web', { serviceAccountName: 'web', nodeName: 'n1' }))
  await make('/api/v1/nodes', { metadata: { name: 'n1' } })

  test('a rejected upgrade leaves no authority on its connection (CVE-2018-1002105)', async () => {
    const next = `${secretsRequest}\r\n`
    for (const [name, headers] of Object.entries(upgrades)) {
      const check = async (line: string): Promise<void> => {
        const first = `${line} HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\n${headers}\r\n`
        // The next request is sent in the same write and again later: it must not inherit the rights of the
        // first.
        const said = await talk(await openAnonymously(access), `${first}${next}`, next)
        const statuses = [...said.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => Number(status))
        assert.ok(statuses.length > 0, `${name} ${line}: no answer`)
        assert.ok(!statuses.includes(101), `${name} ${line}: switched`)
        assert.ok(
          statuses.every(status => status === 403 || (status === 200 && line.endsWith('/version'))),
          said,
        )
        assert.doesNotMatch(said, /SecretList|kind":"Secret"/, `${name} ${line}`)
      }
      await Promise.all(asking.map(check))
    }
  })

  test('an upgrade of an administrator without a reachable backend is rejected', async () => {
    for (const [name, headers] of Object.entries(upgrades)) {
      const check = async (line: string): Promise<void> => {
        const said = await talk(
          await openSocket(access),
          `${line} HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\n${headers}\r\n`,
        )
        const [, status] = /^HTTP\/1\.1 (\d+)/.exec(said) ?? []
        assert.match(status ?? '', /^(?:400|403|404|405|500|503)$/, `${name} ${line}: ${said}`)
      }
      await Promise.all(asking.slice(0, 7).map(check))
    }
  })

  test('node addresses set by users are not proxied to (CVE-2022-3294)', async () => {
    const { port } = visited
    const status = (address: string) => ({
      addresses: [{ type: 'InternalIP', address }],
      daemonEndpoints: { kubeletEndpoint: { Port: port } },
    })
    for (const [name, address] of [
      ['loopback', '127.0.0.1'],
      ['metadata', '169.254.169.254'],
      ['named', 'localhost'],
    ] as const) {
      await make('/api/v1/nodes', { metadata: { name }, status: status(address) })
    }
    for (const name of [
      'loopback',
      'metadata',
      'named',
      `loopback:${port}`,
      `https:loopback:${port}`,
      `127.0.0.1:${port}`,
      `[::1]:${port}`,
    ]) {
      for (const path of [
        `/api/v1/nodes/${name}/proxy/`,
        `/api/v1/nodes/${name}/proxy/../../secrets`,
        `/api/v1/proxy/nodes/${name}/`,
        `/api/v1/namespaces/default/services/${name}/proxy/`,
        `/api/v1/namespaces/default/pods/${name}/proxy/`,
        `/api/v1/namespaces/default/pods/${name}/portforward?ports=${port}`,
      ]) {
        const outcome = await client.ask({ path })
        assert.ok(
          'status' in outcome && outcome.status >= 400 && outcome.status < 500,
          `${path} ${JSON.stringify(outcome)}`,
        )
      }
    }
    assert.deepEqual(visited.visits, [])
  })

  test('the API server proxy follows no redirects and forwards to no other host', async () => {
    const { port } = visited
    for (const target of [
      `http://127.0.0.1:${port}/api/v1/secrets`,
      `https://127.0.0.1:${port}/`,
      `//127.0.0.1:${port}/`,
      `/\\\\127.0.0.1:${port}/`,
      '/api/v1/namespaces/default/pods/',
      '/healthz/../api',
    ]) {
      const said = await talk(
        await openAnonymously(access),
        `GET ${target} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n\r\n`,
      )
      assert.doesNotMatch(said, /^HTTP\/1\.1 3\d\d|^location:/im, target)
      assert.doesNotMatch(said, /^HTTP\/1\.1 200/m, target)
    }
    const said = await talk(
      await openAnonymously(access),
      `CONNECT 127.0.0.1:${port} HTTP/1.1\r\nhost: x\r\n\r\n`,
      'GET / HTTP/1.1\r\n\r\n',
    )
    assert.doesNotMatch(said, /^HTTP\/1\.1 2\d\d/m)
    assert.deepEqual(visited.visits, [])
  })
})

const quiet = (): void => undefined
const silent: Log = { debug: quiet, info: quiet, warn: quiet, error: quiet, with: () => silent }

test('a token review webhook does not follow redirects (CVE-2020-8559)', async (t: TestContext) => {
  const elsewhere = await trap()
  t.after(() => elsewhere.server.close())
  const asked: string[] = []
  const redirecting = createServer((request, response) => {
    asked.push(request.url ?? '')
    const status = [301, 302, 303, 307, 308][asked.length % 5]!
    response.writeHead(status, { location: `http://127.0.0.1:${elsewhere.port}/stolen` }).end('{}')
  })
  redirecting.listen(0, '127.0.0.1')
  await once(redirecting, 'listening')
  t.after(() => redirecting.close())
  const platform = { ...nodePlatform({ log: { level: 'error', format: 'text' } }), log: silent }
  const store = await MemoryStore.open({ platform })
  const url = `http://127.0.0.1:${(redirecting.address() as AddressInfo).port}/review`
  const authentication = { connectHttp, webhook: { url } }
  const server = await ApiServer.start({ platform, store, build: { version: '0.0.0' }, authentication })
  t.after(async () => {
    await server.stop()
    await store[Symbol.asyncDispose]()
  })
  for (const token of ['a', 'b', 'c', 'd', 'e']) {
    const outcome = await server.authentication.reviewToken(token, server.authentication.audiences)
    assert.ok(!('user' in outcome))
  }
  assert.ok(asked.length >= 5)
  assert.deepEqual(elsewhere.visits, [])
})
