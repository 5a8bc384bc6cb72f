import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { nodePlatform } from '#/platform/node.ts'
import type { ProfileOptions, Profiler } from '#/platform/profiler.ts'
import type { ApiServer } from './api-server.ts'
import { debugPages } from './debug-pages.ts'
import { Health } from './health.ts'
import { Metrics } from './metrics.ts'
import { observability } from './observability.ts'
import { startTestServer } from './test-server.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
const { clock } = platform

/** Profiles that end when they are aborted or when `finish` is called. */
function testProfiler() {
  const { promise: finished, resolve: finish } = Promise.withResolvers<void>()
  const taken: number[] = []
  const take = async ({ durationMs }: ProfileOptions): Promise<string> => {
    taken.push(durationMs)
    await finished
    return '{"nodes":[]}'
  }
  const profiler: Profiler = {
    cpuProfile: take,
    heapProfile: take,
    async *heapSnapshot() {
      yield Buffer.from('{"snapshot":{}}')
    },
  }
  return { profiler, taken, finish }
}

async function start(t: TestContext, { profiling = true } = {}) {
  const running: { server?: ApiServer } = {}
  const { profiler, taken, finish } = testProfiler()
  const metrics = new Metrics({ clock })
  const pages = debugPages({
    clock,
    startedMs: clock.now() - 3_725_000,
    build: { version: '0.0.0', runtime: 'node26.0.0' },
    flags: { profiling, 'event-ttl': 5_400_000, 'api-audiences': ['a', 'b'], 'max-requests-inflight': 7 },
    profiler,
    flowControl: () => running.server?.flowControl,
  })
  const started = await startTestServer(t, platform, {
    metrics,
    observability: observability({ health: new Health(platform), metrics, pages }),
    limits: { fairness: 'priority and fairness', readOnly: 400, mutating: 200 },
  })
  running.server = started.server
  return { ...started, taken, finish }
}

test('priority and fairness is dumped with its levels, queues and requests', async t => {
  const { request } = await start(t)
  const dump = async (name: string): Promise<readonly (readonly string[])[]> => {
    const { code, text } = await request('GET', `/debug/api_priority_and_fairness/${name}`)
    assert.equal(code, 200)
    return text
      .trimEnd()
      .split('\n')
      .map(line => line.split(/, */))
  }
  const [header, ...levels] = await dump('dump_priority_levels')
  assert.equal(header?.length, 10)
  assert.deepEqual(
    levels.map(([name]) => name),
    [
      'catch-all',
      'exempt',
      'global-default',
      'leader-election',
      'node-high',
      'system',
      'workload-high',
      'workload-low',
    ],
  )
  assert.deepEqual(levels[1]?.slice(0, 6), ['exempt', '0', 'false', 'false', '0', '1'])
  const queues = await dump('dump_queues')
  assert.equal(queues.filter(([name]) => name === 'workload-low').length, 128)
  assert.deepEqual(queues[1], [
    'global-default',
    '0',
    '0',
    '0',
    '0',
    '0.00000000ss',
    '0',
    '0',
    '0.00000000ss',
  ])
  const [columns, running] = await dump('dump_requests?includeRequestDetails=1')
  const shown = Object.fromEntries(columns!.map((column, index) => [column, running?.[index]]))
  assert.equal(columns?.length, 18)
  assert.equal(shown['FlowSchemaName'], 'exempt')
  assert.equal(shown['UserName'], 'kubernetes-admin')
  assert.equal(shown['APIPath'], '/debug/api_priority_and_fairness/dump_requests')
  assert.match(shown['ArriveTime']!, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
  const { code } = await request('GET', '/debug/api_priority_and_fairness/other')
  assert.equal(code, 404)
})

test('statusz and flagz are text, or objects of the version that is asked for', async t => {
  const { request } = await start(t)
  const get = (path: string, accept: string) => request('GET', path, undefined, { accept })
  const status = await get('/statusz', '*/*')
  assert.match(
    status.text,
    /\nUp: 1 hr 02 min 0\d sec\nGo version: node26\.0\.0\nBinary version: 1\.36\.\d+\n/,
  )
  const flags = await get('/flagz', 'text/plain')
  assert.match(
    flags.text,
    /\napi-audiences=\[a,b\]\nevent-ttl=1h30m0s\nmax-requests-inflight=7\nprofiling=true\n/,
  )
  const object = await get('/statusz', 'application/json;v=v1beta1;g=config.k8s.io;as=Statusz')
  assert.deepEqual([object.body['kind'], object.body.apiVersion], ['Statusz', 'config.k8s.io/v1beta1'])
  assert.equal(object.headers?.['warning'], undefined)
  const older = await get('/flagz', 'application/json;g=config.k8s.io;v=v1alpha1;as=Flagz')
  assert.equal(older.body['flags']?.['event-ttl'], '1h30m0s')
  assert.match(String(older.headers?.['warning']), /flagz endpoint is deprecated/)
  for (const accept of ['application/json', 'application/json;v=v1;g=config.k8s.io;as=Statusz', 'image/png'])
    assert.equal((await get('/statusz', accept)).code, 406, accept)
  const bob = { 'impersonate-user': 'bob' }
  assert.equal((await request('GET', '/flagz', undefined, bob)).code, 403)
})

test('profiles are taken one at a time, bounded in time and for administrators', async t => {
  const { request, raw, taken, finish } = await start(t)
  const code = async (path: string, headers = {}): Promise<number> =>
    (await request('GET', path, undefined, headers)).code
  assert.equal(await code('/debug/pprof/'), 200)
  assert.equal(await code('/debug/pprof/profile', { 'impersonate-user': 'bob' }), 403)
  assert.equal(await code('/debug/pprof/goroutine'), 404)
  assert.equal(await code('/debug/pprof/profile?seconds=9999'), 400)
  assert.equal(await code('/debug/pprof/heap?seconds=x'), 400)
  const profile = request('GET', '/debug/pprof/profile?seconds=2')
  await clock.turn()
  assert.equal(await code('/debug/pprof/heap'), 500)
  assert.equal(await code('/debug/pprof/heapsnapshot'), 500)
  finish()
  const { text, headers } = await profile
  assert.deepEqual([text, taken], ['{"nodes":[]}', [2_000]])
  assert.match(String(headers?.['content-disposition']), /profile\.cpuprofile/)
  const { body } = await raw('GET', '/debug/pprof/heapsnapshot')
  assert.ok(body?.type === 'stream')
  const pieces = await Array.fromAsync(body.chunks)
  assert.equal(Buffer.from(pieces[0]![0]!.bytes()).toString(), '{"snapshot":{}}')
  assert.equal(await code('/debug/pprof/heap?seconds=1'), 200)
})

test('--profiling=false switches profiles off', async t => {
  const { request } = await start(t, { profiling: false })
  assert.equal((await request('GET', '/debug/pprof/')).code, 404)
})
