import assert from 'node:assert/strict'
import { test } from 'node:test'
import { notFound } from '#/api/errors.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import { nodePlatform } from '#/platform/node.ts'
import { MemoryStore } from '#/store/memory.ts'
import { measure } from './measure.ts'
import { measuredStore } from './measured-store.ts'
import { Metrics } from './metrics.ts'
import { pipeline } from './pipeline.ts'
import type { ApiRequest, ApiResponse, StreamChunk } from './request.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })

function request(line: string, signal = new AbortController().signal): ApiRequest {
  const [method = '', url = '', contentType] = line.split(' ')
  const [path = '', query = ''] = url.split('?')
  return {
    method,
    path,
    query: new URLSearchParams(query),
    headers: { 'content-type': contentType },
    signal,
    body: { bytes: async () => Buffer.alloc(0) },
    peer: { address: '127.0.0.1' },
  }
}

function value(text: string): ApiResponse {
  const bytes = (): Uint8Array[] => [Buffer.from(text)]
  return { status: 200, body: { type: 'value', mediaType: 'text/plain', value: text, bytes } }
}

function start(route: () => Promise<ApiResponse>) {
  const metrics = new Metrics()
  const resourceOf = ({ resource }: { readonly resource: string }) => (resource === 'pods' ? pods : undefined)
  const stage = measure({ metrics, clock: platform.clock, resourceOf })
  const handle = pipeline(platform, [stage], route)
  const lines = (name: string): string[] => {
    return metrics.registry
      .render()
      .split('\n')
      .filter(line => line.startsWith(`${name}{`))
  }
  return { metrics, handle, lines }
}

test('request metrics are labeled by verb, resource and scope', async () => {
  const { handle, lines } = start(async () => value('hello'))
  /** Labels in short form: verb, resource with subresource, scope, dry run. */
  const check = async (line: string, labels: string): Promise<void> => {
    const before = lines('apiserver_request_total')
    await handle(request(line))
    const added = lines('apiserver_request_total').filter(each => !before.includes(each))
    assert.equal(added.length, 1)
    const [code, component, dryRun, group, resource, scope, subresource, verb, version] = [
      ...added[0]!.matchAll(/="([^"]*)"/g),
    ].map(([, value]) => value)
    assert.equal(
      [verb, `${group}/${version}/${resource}/${subresource}`, scope, dryRun].join(' '),
      labels,
      line,
    )
    assert.deepEqual([component, code], [resource === '' ? '' : 'apiserver', '200'])
  }
  await check('GET /api/v1/namespaces/a/pods/b', 'GET /v1/pods/ resource ')
  await check('GET /api/v1/namespaces/a/pods', 'LIST /v1/pods/ namespace ')
  await check('GET /api/v1/pods', 'LIST /v1/pods/ cluster ')
  await check('POST /api/v1/namespaces/a/pods?dryRun=All', 'POST /v1/pods/ resource All')
  await check('PATCH /api/v1/namespaces/a/pods/b application/apply-patch+yaml', 'APPLY /v1/pods/ resource ')
  await check(
    'PATCH /api/v1/namespaces/a/pods/b/status?dryRun=x application/json-patch+json',
    'PATCH /v1/pods/status resource invalid',
  )
  await check('GET /api/v1/namespaces/a/pods/b/log', 'CONNECT /v1/pods/log resource ')
  await check('GET /version', 'GET ////version  ')
  await check('BREW /made/up', 'other ///  ')
})

test('requests for unknown resources share one series', async () => {
  const { handle, lines } = start(() => Promise.reject(notFound({ group: '', kind: 'things', name: 'x' })))
  for (let index = 0; index < 50; index++) await handle(request(`GET /apis/made.up/v1/things${index}`))
  assert.deepEqual(lines('apiserver_request_total'), [
    'apiserver_request_total{code="404",component="",dry_run="",group="",resource="",scope="",' +
      'subresource="",verb="GET",version=""} 50',
  ])
})

test('request duration, size and inflight count are measured, failures included', async () => {
  const gate = Promise.withResolvers<ApiResponse>()
  const { metrics, handle, lines } = start(() => gate.promise)
  const answer = handle(request('GET /api/v1/pods'))
  const writing = handle(request('DELETE /api/v1/pods'))
  assert.deepEqual(
    [metrics.requests.inFlight.readOnly.value, metrics.requests.inFlight.mutating.value],
    [1, 1],
  )
  gate.resolve(value('x'.repeat(5_000)))
  const { body } = await answer
  await writing
  assert.deepEqual(
    [metrics.requests.inFlight.readOnly.value, metrics.requests.inFlight.mutating.value],
    [0, 0],
  )
  assert.deepEqual(body?.type === 'value' && body.value, 'x'.repeat(5_000))
  if (body?.type === 'value') body.bytes()
  const sizes = lines('apiserver_response_sizes_bucket').filter(line => line.includes('LIST'))
  const buckets = sizes.map(line => line.slice(line.indexOf('le=')))
  assert.deepEqual(buckets.slice(0, 2), ['le="1000"} 0', 'le="10000"} 1'])
  assert.equal(lines('apiserver_request_duration_seconds_count').length, 2)
})

test('a watch counts as long-running until it ends', async () => {
  const chunks = async function* (): AsyncGenerator<readonly StreamChunk[]> {
    yield [1, 2, 3].map(value => ({ value, bytes: () => Buffer.from('x') }))
  }
  const stream = async (): Promise<ApiResponse> => {
    return { status: 200, body: { type: 'stream', mediaType: 'application/json', chunks: chunks() } }
  }
  const { handle, lines } = start(stream)
  const running = (): string | undefined => lines('apiserver_longrunning_requests')[0]?.split(' ').at(-1)
  const gone = new AbortController()
  const line = 'GET /api/v1/pods?watch=1'
  const [read, left] = [await handle(request(line)), await handle(request(line))]
  await handle(request(line, gone.signal))
  assert.equal(running(), '3')
  if (read.body?.type === 'stream') for await (const _ of read.body.chunks);
  assert.equal(running(), '2')
  if (left.body?.type === 'stream') for await (const _ of left.body.chunks) break
  assert.equal(running(), '1')
  gone.abort()
  assert.equal(running(), '0')
  const name = 'apiserver_watch_events_total'
  assert.deepEqual(lines(name), [`${name}{group="",resource="pods",version="v1"} 6`])
})

test('store metrics are labeled by operation and resource', async () => {
  const metrics = new Metrics()
  await using store = measuredStore(await MemoryStore.open({ platform }), metrics, platform.clock)
  metrics.storage.readObjects(() => [
    { group: '', resource: 'pods', objects: 2, sizeBytes: 20 },
    { group: 'apps', resource: 'deployments', objects: 3, sizeBytes: 30 },
  ])
  await store.create('/registry/pods/default/a', Buffer.from('{}'))
  await store.get('/registry/example.com/things/a')
  await assert.rejects(store.list({ prefix: '/registry/pods/', revision: 99 }))
  const text = metrics.registry.render()
  for (const line of [
    'etcd_request_duration_seconds_count{group="",operation="create",resource="pods"} 1',
    'etcd_request_duration_seconds_count{group="example.com",operation="get",resource="things"} 1',
    'etcd_request_errors_total{group="",operation="list",resource="pods"} 1',
    'apiserver_resource_objects{group="apps",resource="deployments"} 3',
    'apiserver_storage_objects{resource="deployments.apps"} 3',
    'apiserver_storage_objects{resource="pods"} 2',
  ])
    assert.ok(text.includes(`${line}\n`), line)
})

test('rejection and process metrics are in Prometheus format', () => {
  const startedMs = 1_700_000_000_000
  const eventLoopBlocks = [{ cause: 'request', count: 2, totalMs: 150, longestMs: 90 }]
  const usage = {
    cpuSeconds: 1.5,
    residentBytes: 1e8,
    heapBytes: 5e7,
    startedMs,
    openFiles: undefined,
    details: {
      virtualBytes: 2e8,
      virtualBytesMax: Infinity,
      openFilesMax: 1024,
      networkReceivedBytes: 5,
      networkSentBytes: 6,
    },
    eventLoopBlocks,
  }
  const metrics = new Metrics({ usage: () => usage })
  metrics.rejected('tls')
  metrics.rejected('flood')
  const { body } = metrics.answer()
  assert.equal(body?.mediaType, 'text/plain; version=0.0.4; charset=utf-8; escaping=underscores')
  const lines = String(body?.type === 'value' && body.value).split('\n')
  for (const line of [
    'apiserver_tls_handshake_errors_total 1',
    'k8ts_http_rejections_total{reason="flood"} 1',
    'process_cpu_seconds_total 1.5',
    'process_start_time_seconds 1.7e+09',
    'process_max_fds 1024',
    'process_virtual_memory_max_bytes +Inf',
    'process_network_receive_bytes_total 5',
    'nodejs_event_loop_blocks_total{cause="request"} 2',
    'nodejs_event_loop_block_seconds_max{cause="request"} 0.09',
  ])
    assert.ok(lines.includes(line), line)
  assert.ok(!lines.some(line => line.startsWith('process_open_fds ')))
  const form = /^(?:# (?:HELP|TYPE) [a-z_0-9]+ .+|[a-z_0-9]+(?:\{[^{}]+\})? \S+|)$/
  assert.deepEqual(
    lines.filter(line => !form.test(line)),
    [],
  )
})
