import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError, expired, isApiError, notFound } from '#/api/errors.ts'
import { namespaces, pods, serviceAccounts, configMaps } from '#/api/generated/core/v1-resources.ts'
import type { ConfigMap } from '#/api/generated/core/v1.ts'
import { deployments } from '#/api/generated/apps/v1-resources.ts'
import { parseSelector } from '#/api/selectors/parse-selector.ts'
import type { ApiRequest, ApiResponse } from '#/api/transport.ts'
import { Simulation } from '#/platform/simulated.ts'
import { chunkOf, valueResponse } from '#/simulation/faulty-transport.ts'
import { clientOf, type Client, type ClientOptions, type WatchEvent } from './client.ts'
import { inProcessTransport } from './in-process.ts'
import { SmallServer } from './testdata/small-server.ts'
import { TransportError } from './transport.ts'

const web = { namespace: 'default', name: 'web' }

test('every client verb sends the corresponding HTTP request', async () => {
  await check(c => c.get(pods, web), 'GET /api/v1/namespaces/default/pods/web')
  await check(
    c => c.get(pods, web, { resourceVersion: '0' }),
    'GET /api/v1/namespaces/default/pods/web?resourceVersion=0',
  )
  await check(c => c.get(namespaces, { name: 'default' }), 'GET /api/v1/namespaces/default')
  await check(c => c.get(deployments, web), 'GET /apis/apps/v1/namespaces/default/deployments/web')
  await check(c => c.list(pods), 'GET /api/v1/pods')
  await check(
    c => c.list(pods, { namespace: 'a', labelSelector: 'a=b,c', limit: 5, continue: 'x' }),
    'GET /api/v1/namespaces/a/pods?labelSelector=a%3Db%2Cc&limit=5&continue=x',
  )
  const labelSelector = parseSelector('app in (a, b)')
  await check(
    c => c.list(pods, { labelSelector, fieldSelector: 'spec.nodeName=n1' }),
    'GET /api/v1/pods?labelSelector=app+in+%28a%2Cb%29&fieldSelector=spec.nodeName%3Dn1',
  )
  await check(
    c => c.list(pods, { resourceVersion: '7', resourceVersionMatch: 'Exact', timeoutSeconds: 3 }),
    'GET /api/v1/pods?resourceVersion=7&resourceVersionMatch=Exact&timeoutSeconds=3',
  )
  await check(
    c => c.create(namespaces, { metadata: { name: 'a' } }),
    'POST /api/v1/namespaces {"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a"}}',
  )
  const options = { dryRun: true, fieldManager: 'me', fieldValidation: 'Strict' } as const
  await check(
    c => c.create(configMaps, { metadata: web }, options),
    'POST /api/v1/namespaces/default/configmaps?dryRun=All&fieldManager=me&fieldValidation=Strict ' +
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"default","name":"web"}}',
  )
  await check(
    c => c.update(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: web }),
    'PUT /api/v1/namespaces/default/configmaps/web ' +
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"default","name":"web"}}',
  )
  await check(
    c => c.updateStatus(namespaces, { metadata: { name: 'a' } }),
    'PUT /api/v1/namespaces/a/status {"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a"}}',
  )
})

test('patches, deletions and subresources send the corresponding HTTP request', async () => {
  await check(
    c => c.patch(pods, web, { type: 'merge', patch: { metadata: { labels: { a: null } } } }),
    'PATCH /api/v1/namespaces/default/pods/web application/merge-patch+json ' +
      '{"metadata":{"labels":{"a":null}}}',
  )
  const removal = { type: 'json', patch: [{ op: 'remove', path: '/a' }] } as const
  await check(
    c => c.patch(pods, { ...web, subresource: 'status' }, removal),
    'PATCH /api/v1/namespaces/default/pods/web/status application/json-patch+json ' +
      '[{"op":"remove","path":"/a"}]',
  )
  await check(
    c => c.patch(pods, web, { type: 'strategic', patch: {} }),
    'PATCH /api/v1/namespaces/default/pods/web application/strategic-merge-patch+json {}',
  )
  const applied = { metadata: web, data: { a: 'b' } }
  await check(
    c => c.apply(configMaps, applied, { fieldManager: 'me', force: true }),
    'PATCH /api/v1/namespaces/default/configmaps/web?fieldManager=me&force=true application/apply-patch+yaml ' +
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"default","name":"web"},' +
      '"data":{"a":"b"}}',
  )
  const preconditions = { uid: 'u' }
  await check(
    c => c.delete(pods, web, { gracePeriodSeconds: 0, propagationPolicy: 'Orphan', preconditions }),
    'DELETE /api/v1/namespaces/default/pods/web ' +
      '{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0,' +
      '"propagationPolicy":"Orphan","preconditions":{"uid":"u"}}',
  )
  await check(
    c => c.deleteCollection(pods, { namespace: 'a', labelSelector: 'x', dryRun: true }),
    'DELETE /api/v1/namespaces/a/pods?labelSelector=x ' +
      '{"kind":"DeleteOptions","apiVersion":"v1","dryRun":["All"]}',
  )
  await check(
    c => c.getSubresource(deployments, { ...web, subresource: 'scale' }),
    'GET /apis/apps/v1/namespaces/default/deployments/web/scale',
  )
  await check(
    c => c.createSubresource(pods, { ...web, subresource: 'binding' }, { target: { name: 'n1' } }),
    'POST /api/v1/namespaces/default/pods/web/binding ' +
      '{"apiVersion":"v1","kind":"Binding","target":{"name":"n1"}}',
  )
  await check(
    c => c.createSubresource(serviceAccounts, { ...web, subresource: 'token' }, { spec: {} }),
    'POST /api/v1/namespaces/default/serviceaccounts/web/token ' +
      '{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}}',
  )
  await check(
    c => c.raw({ method: 'GET', path: '/readyz', query: new URLSearchParams('verbose=1') }),
    'GET /readyz?verbose=1',
  )
})

test('names are escaped in paths; a missing name or namespace is rejected', async () => {
  await check(c => c.get(namespaces, { name: '../secrets' }), 'GET /api/v1/namespaces/..%2Fsecrets')
  await check(c => c.get(namespaces, { name: '..' }), 'GET /api/v1/namespaces/%2E%2E')
  await check(c => c.get(namespaces, { name: 'a?b#c%' }), 'GET /api/v1/namespaces/a%3Fb%23c%25')
  const { client } = recording()
  await assert.rejects(client.get(namespaces, { name: '' }), /name must not be empty/)
  await assert.rejects(client.get(pods, { name: 'web' }), /namespace is required/)
  await assert.rejects(client.get(namespaces, web), /are cluster-scoped/)
  await assert.rejects(client.create(configMaps, { metadata: { name: 'a' } }), /namespace is required/)
  await assert.rejects(client.update(configMaps, { metadata: { namespace: 'a' } }), /name is required/)
})

test('objects are returned as stored; list items get apiVersion and kind', async () => {
  const { client, server } = small()
  const created = await client.create(configMaps, { metadata: web, data: { a: 'b' } })
  assert.equal(await client.get(configMaps, web), created)
  assert.equal(await client.find(configMaps, { ...web, name: 'other' }), undefined)
  const { items, metadata } = await client.list(configMaps)
  assert.deepEqual(items, [created])
  assert.equal(metadata.resourceVersion, '1')
  const patched = await client.patch(configMaps, web, { type: 'merge', patch: { data: { a: 'c' } } })
  assert.deepEqual(patched.data, { a: 'c' })
  await assert.rejects(client.update(configMaps, created), error => isApiError(error, 'Conflict'))
  assert.equal(await client.delete(configMaps, web), undefined)
  await assert.rejects(client.delete(configMaps, web), error => isApiError(error, 'NotFound'))
  assert.equal(server.revision, 3)
})

test('an error response becomes an ApiError, also without a Status body', async () => {
  const status = notFound({ group: '', kind: 'pods', name: 'web' }).status
  await checkError(valueResponse(status, 404), {
    reason: 'NotFound',
    message: 'pods "web" not found',
    code: 404,
  })
  await checkError(valueResponse({ kind: 'Status' }, 409), { reason: '', message: 'unknown', code: 409 })
  await checkError(valueResponse({ html: 'bad gateway' }, 502), { reason: 'InternalError', code: 502 })
  await checkError({ status: 404 }, { reason: 'NotFound', code: 404 })
  await checkError({ status: 418 }, { reason: '', code: 418 })
  const later = { ...valueResponse(status, 429), headers: { 'retry-after': '99' } }
  await checkError(later, { reason: 'NotFound', code: 404 }, 99)
})

test('a response of the wrong shape is an invalid-response error', async () => {
  for (const value of [[], 'text', 42, null] as unknown as object[]) {
    const { client } = recording(() => valueResponse(value, 200))
    await assert.rejects(
      client.get(pods, web),
      error => error instanceof TransportError && error.reason === 'invalid-response',
    )
  }
  for (const value of [{}, { items: [] }, { items: {}, metadata: {} }, { items: [1], metadata: {} }]) {
    const { client } = recording(() => valueResponse(value, 200))
    await assert.rejects(
      client.list(pods),
      error => error instanceof TransportError && error.reason === 'invalid-response',
    )
  }
  const { client } = recording(() => valueResponse({ items: null, metadata: { resourceVersion: '1' } }, 200))
  assert.deepEqual((await client.list(pods)).items, [])
})

test('a response with Retry-After is retried up to a limit', async () => {
  const simulation = new Simulation({ seed: 1 })
  for (const [status, seconds, times] of [
    [429, 2, 3],
    [503, 0, 2],
    [429, 1, 10],
  ] as const) {
    let left: number = times
    const { client, requests } = recording(() => {
      if (left-- === 0) return valueResponse({ kind: 'Pod' }, 200)
      return { ...valueResponse({}, status), headers: { 'retry-after': String(seconds) } }
    }, simulation)
    const startedMs = simulation.nowMs
    await simulation.run(client.get(pods, web))
    assert.equal(requests.length, times + 1)
    assert.equal(simulation.nowMs - startedMs, seconds * times * 1_000)
  }
})

test('retries end at the limit, without Retry-After, and for a long Retry-After', async () => {
  const simulation = new Simulation({ seed: 1 })
  for (const [status, header, expected] of [
    [429, '1', 11],
    [429, undefined, 1],
    [503, undefined, 1],
    [500, '1', 1],
    [429, '3600', 1],
    [429, 'Wed, 21 Oct', 1],
    [429, '-1', 1],
  ] as const) {
    const { client, requests } = recording(() => {
      return { ...valueResponse({}, status), ...(header && { headers: { 'retry-after': header } }) }
    }, simulation)
    await assert.rejects(
      simulation.run(client.get(pods, web)),
      error => error instanceof ApiError && error.code === status,
    )
    assert.equal(requests.length, expected, `${status} ${header}`)
  }
  const { client } = recording(
    () => ({ ...valueResponse({}, 429), headers: { 'retry-after': '20' } }),
    simulation,
  )
  const controller = new AbortController()
  const waiting = client.get(pods, web, { signal: controller.signal })
  simulation.clock.setTimer(5_000, () => controller.abort(new Error('enough')))
  await assert.rejects(simulation.run(waiting), /enough/)
})

test('a request without a response times out', async () => {
  const simulation = new Simulation({ seed: 1 })
  const { client } = recording(() => new Promise(() => undefined), simulation)
  const isTimeout = (error: unknown): boolean => error instanceof TransportError && error.reason === 'timeout'
  await assert.rejects(simulation.run(client.get(pods, web)), isTimeout)
  assert.equal(simulation.nowMs, 70_000)
  await assert.rejects(simulation.run(client.get(pods, web, { timeoutMs: 5 })), isTimeout)
  await assert.rejects(simulation.run(Array.fromAsync(client.watch(pods, { timeoutMs: 5 }))), isTimeout)
  assert.equal(simulation.nowMs, 70_010)
})

test('listAll follows continue tokens and repeats the list when a token expires', async () => {
  const { client, server } = small()
  for (let index = 0; index < 25; index++) {
    await client.create(configMaps, { metadata: { namespace: 'a', name: `c${index}` } })
  }
  server.requests.length = 0
  const { items, metadata } = await client.listAll(configMaps, { limit: 10 })
  assert.deepEqual(
    [items.length, new Set(items.map(item => item.metadata.name)).size, server.requests.length],
    [25, 25, 3],
  )
  assert.deepEqual(metadata, { resourceVersion: '25' })
  const { client: forgetful, requests } = recording(({ query }) => {
    const metadata = { resourceVersion: '1', ...(query.has('limit') && { continue: 'x' }) }
    return query.has('continue')
      ? valueResponse(expired('old').status, 410)
      : valueResponse({ metadata, items: [] }, 200)
  })
  await forgetful.listAll(configMaps)
  assert.deepEqual(
    requests.map(request => request.split('?')[1]),
    ['limit=500', 'limit=500&continue=x', undefined],
  )
})

test('a watch yields typed events and throws ERROR events and invalid ones', async () => {
  const object = { metadata: { name: 'a', resourceVersion: '1' } }
  const good = [chunkOf('ADDED', object), chunkOf('BOOKMARK', { metadata: { resourceVersion: '2' } })]
  const types = (events: readonly WatchEvent<ConfigMap>[]): string[] => events.map(event => event.type)
  const { client, requests } = recording(() => stream(good))
  const options = {
    allowWatchBookmarks: true,
    sendInitialEvents: true,
    resourceVersionMatch: 'NotOlderThan',
    timeoutSeconds: 9,
  } as const
  assert.deepEqual(types(await Array.fromAsync(client.watch(configMaps, options))), ['ADDED', 'BOOKMARK'])
  assert.equal(
    requests[0]?.split('?')[1],
    'watch=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=9&allowWatchBookmarks=true' +
      '&sendInitialEvents=true',
  )
  const wrong: readonly (readonly [object | null, (error: unknown) => boolean])[] = [
    [{ type: 'ERROR', object: expired('old').status }, error => isApiError(error, 'Expired')],
    [{ type: 'ERROR', object: null }, error => error instanceof ApiError && error.code === 500],
    [
      { type: 'ADDED', object: {} },
      error => error instanceof TransportError && error.reason === 'invalid-response',
    ],
    [null, error => error instanceof TransportError && error.reason === 'invalid-response'],
  ]
  for (const [value, isExpected] of wrong) {
    const { client } = recording(() => stream([good[0]!, { value, bytes: () => new Uint8Array() }, good[1]!]))
    const seen: WatchEvent<ConfigMap>[] = []
    await assert.rejects(async () => {
      for await (const event of client.watch(configMaps)) seen.push(event)
    }, isExpected)
    assert.deepEqual(types(seen), ['ADDED'], 'what came before is given')
  }
})

test('leaving the iteration closes the watch', async () => {
  let signal: AbortSignal | undefined
  const { client } = recording(request => {
    ;({ signal } = request)
    return stream([chunkOf('ADDED', { metadata: { name: 'a', resourceVersion: '1' } })], true)
  })
  for await (const _event of client.watch(configMaps)) break
  assert.equal(signal?.aborted, true)
})

test('warnings of responses are passed to onWarning', async () => {
  const header = '299 - "policy/v1beta1 is \\"old\\"", 299 - "two, three", 199 - "other", what'
  const warnings: string[] = []
  const answer = (): ApiResponse => ({ ...valueResponse({ kind: 'Pod' }, 200), headers: { warning: header } })
  const { client } = recording(answer, undefined, { onWarning: text => void warnings.push(text) })
  await client.get(pods, web)
  assert.deepEqual(warnings, ['policy/v1beta1 is "old"', 'two, three'])
})

type Answer = (request: ApiRequest) => ApiResponse | Promise<ApiResponse>

function recording(
  answer: Answer = () => valueResponse({ kind: 'Any', metadata: {}, items: [] }, 200),
  simulation = new Simulation({ seed: 1 }),
  options: Partial<ClientOptions> = {},
): { client: Client; requests: string[] } {
  const requests: string[] = []
  const handle = async (request: ApiRequest): Promise<ApiResponse> => {
    const query = request.query.toString()
    const type = request.headers['content-type'] ?? ''
    const parts = [request.method, query === '' ? request.path : `${request.path}?${query}`]
    if (type.includes('patch')) parts.push(type)
    if (request.body.value !== undefined) parts.push(JSON.stringify(request.body.value))
    requests.push(parts.join(' '))
    return answer(request)
  }
  const transport = inProcessTransport({ handle, user: { username: 'test', groups: [] } })
  return {
    client: clientOf({ platform: simulation.host('client'), transport, userAgent: 'test', ...options }),
    requests,
  }
}

function small(): { client: Client; server: SmallServer } {
  const simulation = new Simulation({ seed: 1 })
  const server = new SmallServer({ clock: simulation.clock })
  const transport = inProcessTransport({ handle: server.handle, user: { username: 'test', groups: [] } })
  return { client: clientOf({ platform: simulation.host('client'), transport, userAgent: 'test' }), server }
}

async function check(call: (client: Client) => Promise<unknown>, expected: string): Promise<void> {
  const { client, requests } = recording()
  await call(client)
  assert.deepEqual(requests, [expected])
}

async function checkError(
  response: ApiResponse,
  expected: Partial<Pick<ApiError, 'reason' | 'message' | 'code'>>,
  retryAfterSeconds?: number,
): Promise<void> {
  const { client } = recording(() => response)
  await assert.rejects(client.get(pods, web), error => {
    assert.ok(error instanceof ApiError)
    const { reason, message, code } = error
    assert.deepEqual({ reason, message, code }, { reason, message, code, ...expected })
    assert.equal(error.status.details?.retryAfterSeconds, retryAfterSeconds)
    return true
  })
}

function stream(chunks: readonly ReturnType<typeof chunkOf>[], hangs = false): ApiResponse {
  async function* source(): AsyncGenerator<typeof chunks, void, undefined> {
    yield chunks
    if (hangs) await new Promise(() => undefined)
  }
  return { status: 200, body: { type: 'stream', mediaType: 'application/json', chunks: source() } }
}
