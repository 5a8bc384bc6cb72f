import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodePlatform } from '#/platform/node.ts'
import type { Platform } from '#/platform/platform.ts'
import { Health } from './health.ts'
import { Metrics } from './metrics.ts'
import { observability, startingPipeline } from './observability.ts'
import { pipeline, type Handle } from './pipeline.ts'
import type { ApiRequest } from './request.ts'
import { startTestServer } from './test-server.ts'

const silent = (): void => undefined
const platform: Platform = {
  ...nodePlatform({ log: { level: 'error', format: 'text' } }),
  log: { debug: silent, info: silent, warn: silent, error: silent, with: () => platform.log },
}

function request(path: string, groups: readonly string[]): ApiRequest {
  return {
    method: 'GET',
    path,
    query: new URLSearchParams(),
    headers: {},
    signal: new AbortController().signal,
    body: { bytes: async () => Buffer.alloc(0) },
    peer: { address: '127.0.0.1', ...(groups.length > 0 && { user: { username: 'somebody', groups } }) },
  }
}

test('health is public, metrics require authorization, and other paths require a ready server', async () => {
  const observe = observability({ health: new Health(platform), metrics: new Metrics() })
  let handle: Handle = startingPipeline({ platform, observability: observe })
  const check = async (path: string, groups: readonly string[], status: number): Promise<void> => {
    assert.equal((await handle(request(path, groups))).status, status, `${path} ${groups.join()}`)
  }
  await check('/livez', [], 200)
  await check('/readyz/ping', [], 200)
  await check('/readyz/nothing', [], 404)
  await check('/metrics', [], 403)
  await check('/metrics', ['system:masters'], 200)
  await check('/metrics/x', ['system:masters'], 503)
  await check('/api/v1/pods', ['system:masters'], 503)
  handle = pipeline(platform, [observe.stage], async () => ({ status: 299 }))
  await check('/api/v1/pods', ['system:masters'], 299)
  await check('/livez', [], 200)
})

test('a running server applies all stages to health and metrics', async t => {
  const metrics = new Metrics()
  const { request: send } = await startTestServer(t, platform, {
    metrics,
    observability: observability({ health: new Health(platform), metrics }),
  })
  const bob = { 'impersonate-user': 'bob' }
  assert.equal((await send('GET', '/readyz')).code, 200)
  const refused = await send('GET', '/metrics', undefined, bob)
  assert.deepEqual([refused.code, refused.headers?.['x-content-type-options']], [403, 'nosniff'])
  const { text } = await send('GET', '/metrics')
  const total = /^apiserver_request_total\{code="(.*?)",.*subresource="\/(.*?)",.*\} (.*)$/gmu
  assert.deepEqual(
    Array.from(text.matchAll(total), ([, code, path, count]) => `${path} ${code} ${count}`),
    ['readyz 200 1', 'metrics 403 1'],
  )
})

test('/ lists health checks and metrics beside the API groups', async t => {
  const health = new Health(platform)
  const { request: send } = await startTestServer(t, platform, {
    observability: observability({ health, metrics: new Metrics() }),
    authentication: {},
  })
  const paths = async (): Promise<readonly string[]> =>
    ((await send('GET', '/')).body as unknown as { readonly paths: readonly string[] }).paths
  const before = await paths()
  assert.deepEqual(before, [...before].sort())
  for (const path of ['/api/v1', '/healthz', '/livez/ping', '/readyz/shutdown', '/metrics/slis', '/statusz'])
    assert.ok(before.includes(path), path)
  health.add({ name: 'poststarthook/late', endpoints: ['livez'], check: () => undefined })
  assert.deepEqual(
    (await paths()).filter(path => !before.includes(path)),
    ['/livez/poststarthook/late'],
  )
})

test('a single health check and unknown OpenAPI documents are answered as Kubernetes does', async t => {
  const { request: send } = await startTestServer(t, platform, {
    observability: observability({ health: new Health(platform), metrics: new Metrics() }),
  })
  assert.equal((await send('GET', '/livez/ping')).headers?.['x-content-type-options'], undefined)
  assert.equal((await send('GET', '/livez?verbose')).headers?.['x-content-type-options'], 'nosniff')
  const unknown = await send('GET', '/openapi/v3/apis/unknown/v1')
  assert.deepEqual([unknown.code, unknown.text], [404, ''])
  assert.deepEqual((await send('GET', '/index.html')).body, (await send('GET', '/')).body)
  const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
  const aggregated = await send('GET', '/apis', undefined, { accept })
  assert.equal(aggregated.headers?.['cache-control'], 'public')
})
