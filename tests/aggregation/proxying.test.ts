/** Requests for the resources of an extension server, over real TLS on both sides. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { discoverResources } from '#/client/discovery.ts'
import { clientOf } from '#/client/client.ts'
import { inProcessTransport } from '#/client/in-process.ts'
import { nodePlatform } from '#/platform/node.ts'
import { waitUntil, waitUntilStable } from '../wait-until.ts'
import { startWorld, type AggregationWorld } from './aggregation-world.ts'
import { groupVersion, json } from './extension-server.ts'

const root = `/apis/${groupVersion}`
const flunders = `${root}/namespaces/default/flunders`

async function startRegistered(t: Parameters<typeof startWorld>[0]): Promise<AggregationWorld> {
  const world = await startWorld(t)
  await world.createService()
  await world.register()
  await world.waitForAvailability('Passed')
  return world
}

test('every verb is forwarded with query, headers and body, in the name of the user', async t => {
  const { send, extension } = await startRegistered(t)
  const check = async (method: string, path: string, body?: object): Promise<void> => {
    const contentType = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    const headers = { 'content-type': contentType, 'x-custom': 'kept' }
    const answer = await send(path, { method, headers, ...(body && { body }) })
    assert.equal(answer.code, method === 'POST' ? 201 : 200, `${method} ${path}: ${answer.text}`)
    assert.equal(answer.headers['x-extension'], 'yes')
    assert.deepEqual(answer.body, body ?? null)
    const { method: received, url, rawHeaders, proxy } = extension.received.at(-1)!
    assert.equal(`${received} ${url} from ${proxy}`, `${method} ${path} from front-proxy-client`)
    assert.equal(rawHeaders[rawHeaders.indexOf('x-custom') + 1], 'kept')
  }
  const object = { kind: 'Flunder', apiVersion: groupVersion, metadata: { name: 'a' } }
  await check('GET', flunders)
  await check('GET', `${flunders}?labelSelector=a%3Db&limit=5`)
  await check('GET', `${flunders}/a`)
  await check('POST', `${flunders}?dryRun=All`, object)
  await check('PUT', `${flunders}/a`, object)
  await check('PUT', `${flunders}/a/status`, object)
  await check('PATCH', `${flunders}/a`, { metadata: { labels: { x: 'y' } } })
  await check('DELETE', `${flunders}/a`)
  await check('DELETE', flunders)
  await check('GET', `${root}/fischers/b`)
  await check('GET', `${flunders}/with%20space/log?follow=true`)
})

test('the extension server sees the identity of the user, whatever the client claims', async t => {
  const { send, extension, issue } = await startRegistered(t)
  const claims = {
    'X-Remote-User': 'root',
    'X-Remote-Group': ['system:masters', 'more'],
    'X-Remote-Uid': '0',
    'X-Remote-Extra-Scopes': 'all',
    'Authorization': 'Bearer secret',
  }
  const identity = (): readonly string[] => {
    const { rawHeaders } = extension.received.at(-1)!
    const pairs = rawHeaders.flatMap((name, index) => {
      return index % 2 === 0 ? [`${name.toLowerCase()}: ${rawHeaders[index + 1]?.replace(/=.*/, '')}`] : []
    })
    return pairs.filter(each => /^(?:x-remote-|authorization|impersonate)/.test(each)).toSorted()
  }
  await send(flunders, { headers: claims, user: await issue('ann', 'system:masters', 'dev, ops') })
  assert.deepEqual(identity(), [
    'x-remote-extra-authentication.kubernetes.io%2fcredential-id: X509SHA256',
    'x-remote-group: dev, ops',
    'x-remote-group: system:authenticated',
    'x-remote-group: system:masters',
    'x-remote-user: ann',
  ])
  const impersonation = {
    'Impersonate-User': 'bob',
    'Impersonate-Uid': '7',
    'Impersonate-Group': 'system:masters',
    'Impersonate-Extra-Acme.com%2Fscopes': 'view',
  }
  await send(flunders, { headers: impersonation })
  assert.deepEqual(identity(), [
    'x-remote-extra-acme.com%2fscopes: view',
    'x-remote-group: system:authenticated',
    'x-remote-group: system:masters',
    'x-remote-uid: 7',
    'x-remote-user: bob',
  ])
})

test('audit and flow control apply to forwarded requests', async t => {
  const { send, extension, audited } = await startRegistered(t)
  const body = { metadata: { name: 'a' } }
  const answer = await send(flunders, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json' },
  })
  assert.equal(answer.code, 201)
  assert.match(String(answer.headers['x-kubernetes-pf-flowschema-uid']), /^[0-9a-f-]{36}$/)
  const isCreation = (): boolean => audited.some(each => String(each['requestURI']) === flunders)
  await waitUntil(isCreation)
  const event = audited.find(each => String(each['requestURI']) === flunders)
  assert.deepEqual([event?.['verb'], event?.['auditID']], ['create', answer.headers['audit-id']])
  assert.deepEqual(event?.['objectRef'], {
    resource: 'flunders',
    namespace: 'default',
    apiGroup: 'wardle.example.com',
    apiVersion: 'v1alpha1',
  })
  const { rawHeaders } = extension.received.at(-1)!
  assert.equal(rawHeaders[rawHeaders.indexOf('audit-id') + 1], answer.headers['audit-id'])
})

test('requests are authorized before they are forwarded', async t => {
  const { send, extension, issue } = await startRegistered(t)
  const user = await issue('carl')
  const { code, body } = await send(flunders, { user })
  assert.equal(code, 403)
  assert.equal(
    body.message,
    'flunders.wardle.example.com is forbidden: User "carl" cannot list resource "flunders" ' +
      'in API group "wardle.example.com" in the namespace "default"',
  )
  assert.deepEqual(extension.received, [])
  const rbac = '/apis/rbac.authorization.k8s.io/v1'
  const post = { method: 'POST', headers: { 'content-type': 'application/json' } }
  const rules = [{ apiGroups: ['wardle.example.com'], resources: ['flunders'], verbs: ['list'] }]
  await send(`${rbac}/clusterroles`, { ...post, body: { metadata: { name: 'r' }, rules } })
  await send(`${rbac}/clusterrolebindings`, {
    ...post,
    body: {
      metadata: { name: 'b' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'r' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'carl' }],
    },
  })
  await waitUntil(async () => (await send(flunders, { user })).code === 200)
  assert.equal((await send(flunders, { method: 'DELETE', user })).code, 403)
})

test('a path that another server could resolve differently is refused', async t => {
  const { open, extension } = await startRegistered(t)
  for (const path of [
    `${flunders}/../../../../../../api/v1/secrets`,
    `${root}/%2e%2e/x`,
    `${flunders}/a/./b`,
  ]) {
    const request = open(path)
    request.end()
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    assert.equal(response.statusCode, 400, path)
    response.resume()
  }
  assert.deepEqual(extension.received, [])
})

test('a watch is streamed, and its end reaches the other side', async t => {
  const { open, extension } = await startRegistered(t)
  const watches: { readonly response: ServerResponse; isClosed: boolean }[] = []
  extension.answers.set(flunders, (_request, response) => {
    const watch = { response, isClosed: false }
    watches.push(watch)
    response.on('close', () => (watch.isClosed = true))
    response.writeHead(200, { 'content-type': 'application/json' })
    response.write('{"type":"ADDED","object":{}}\n')
  })
  const start = async (): Promise<IncomingMessage> => {
    const request = open(`${flunders}?watch=true`)
    request.end()
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    const [first] = (await once(response.setEncoding('utf8'), 'data')) as [string]
    assert.equal(first, '{"type":"ADDED","object":{}}\n')
    return response
  }
  const aborted = await start()
  aborted.destroy()
  await waitUntil(() => watches[0]?.isClosed === true)
  const ended = await start()
  watches[1]!.response.end('{"type":"DELETED","object":{}}\n')
  assert.equal(await text(ended), '{"type":"DELETED","object":{}}\n')
})

test('bodies are streamed with backpressure in both directions', async t => {
  const { open, extension } = await startRegistered(t)
  const piece = Buffer.alloc(64 * 1024)
  // More than the buffers of the kernel for all connections on the way.
  const pieces = 2_000
  // Upload: the extension server does not read until it is told to.
  const { promise: isReading, resolve: startReading } = Promise.withResolvers<void>()
  let uploadedBytes = 0
  extension.answers.set(`${flunders}/up/log`, (request, response) => {
    void isReading.then(() => {
      request.on('data', (data: Buffer) => (uploadedBytes += data.length)).on('end', () => response.end('{}'))
    })
  })
  const upload = open(`${flunders}/up/log`, { method: 'POST', headers: { 'content-type': 'text/plain' } })
  let sentPieces = 0
  const sending = (async () => {
    for (; sentPieces < pieces; sentPieces++) if (!upload.write(piece)) await once(upload, 'drain')
    upload.end()
  })()
  await waitUntilStable(() => sentPieces)
  assert.ok(sentPieces < pieces, 'the whole body was buffered')
  startReading()
  const [answer] = (await once(upload, 'response')) as [IncomingMessage]
  await Promise.all([sending, text(answer)])
  assert.equal(uploadedBytes, pieces * piece.length)
  // Download: the client does not read.
  let writtenPieces = 0
  extension.answers.set(`${flunders}/down/log`, (_request, response) => {
    void (async () => {
      for (; writtenPieces < pieces; writtenPieces++)
        if (!response.write(piece)) await once(response, 'drain')
      response.end()
    })()
  })
  const download = open(`${flunders}/down/log`)
  download.end()
  const [response] = (await once(download, 'response')) as [IncomingMessage]
  await waitUntilStable(() => writtenPieces)
  assert.ok(writtenPieces < pieces, 'the whole response was buffered')
  let readBytes = 0
  for await (const data of response) readBytes += (data as Buffer).length
  assert.equal(readBytes, pieces * piece.length)
})

test('an upgraded connection passes in both directions', async t => {
  const { open, extension } = await startRegistered(t)
  const request = open(`${flunders}/a/exec?command=sh`, {
    method: 'POST',
    headers: { 'Connection': 'Upgrade', 'Upgrade': 'echo/1.0', 'X-Remote-Group': 'system:masters' },
  })
  request.end()
  const [response, socket] = (await once(request, 'upgrade')) as [IncomingMessage, Duplex]
  assert.equal(response.statusCode, 101)
  assert.equal(response.headers['upgrade'], 'echo/1.0')
  socket.write('hello')
  const [echoed] = (await once(socket, 'data')) as [Buffer]
  assert.equal(echoed.toString(), 'hello')
  const { url, rawHeaders, proxy } = extension.received.at(-1)!
  assert.equal(url, `${flunders}/a/exec?command=sh`)
  assert.equal(proxy, 'front-proxy-client')
  assert.equal(rawHeaders[rawHeaders.indexOf('x-remote-user') + 1], 'admin')
  socket.end()
  await once(socket, 'close')
})

test('a request that takes too long is ended on both sides', async t => {
  const { send, extension } = await startRegistered(t)
  let isClosed = false
  extension.answers.set(flunders, (_request, response) => void response.on('close', () => (isClosed = true)))
  const { code, body } = await send(`${flunders}?timeout=100ms`)
  assert.deepEqual([code, body.reason], [504, 'Timeout'])
  await waitUntil(() => isClosed)
})

test('a redirect of an extension server is refused', async t => {
  const { send, extension } = await startRegistered(t)
  extension.answers.set(`${flunders}/a`, (_request, response) => {
    response.writeHead(302, { location: 'https://example.com/' }).end()
  })
  const { code, body, headers } = await send(`${flunders}/a`)
  assert.equal(code, 502)
  assert.equal(body.message, 'the backend attempted to redirect this request, which is not permitted')
  assert.equal(headers.location, undefined)
})

test('a broken connection to an extension server is reported as unavailable', async t => {
  const { send, extension } = await startRegistered(t)
  extension.answers.set(`${flunders}/a`, request => request.socket.destroy())
  const { code, text } = await send(`${flunders}/a`)
  assert.equal(code, 503)
  assert.match(text, /^error trying to reach service: /)
})

test('in-process components read and watch the resources of extension servers', async t => {
  const { api, extension } = await startRegistered(t)
  const user = {
    username: 'system:serviceaccount:kube-system:namespace-controller',
    groups: ['system:masters'],
  }
  const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
  const client = clientOf({
    platform,
    transport: inProcessTransport({ handle: api.handle, user }),
    userAgent: 't',
  })
  const find = async () => (await discoverResources(client)).find(({ plural }) => plural === 'flunders')
  await waitUntil(async () => (await find()) !== undefined)
  const resource = (await find())!
  const object = { kind: 'Flunder', apiVersion: groupVersion, metadata: { name: 'a', resourceVersion: '7' } }
  extension.answers.set(flunders, (request, response) => {
    const isWatch = request.url?.includes('watch=') ?? false
    const list = {
      kind: 'FlunderList',
      apiVersion: groupVersion,
      metadata: { resourceVersion: '7' },
      items: [object],
    }
    if (!isWatch) return json(list)(request, response)
    response.writeHead(200, { 'content-type': 'application/json' })
    response.write(`${JSON.stringify({ type: 'ADDED', object })}\n`)
  })
  const { items } = await client.list(resource, { namespace: 'default' })
  assert.deepEqual(
    items.map(each => each.metadata.name),
    ['a'],
  )
  const signal = AbortSignal.timeout(60_000)
  for await (const event of client.watch(resource, { namespace: 'default', signal, resourceVersion: '7' })) {
    assert.equal(event.type, 'ADDED')
    assert.equal(event.object.metadata.name, 'a')
    break
  }
})
