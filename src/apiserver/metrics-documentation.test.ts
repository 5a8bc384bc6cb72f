import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openHistoryLog } from '#/history/history-log.ts'
import { nodePlatform, processUsage } from '#/platform/node.ts'
import { MemoryStore } from '#/store/memory.ts'
import { readAdmission } from './admission.ts'
import { Health } from './health.ts'
import { measuredStore } from './measured-store.ts'
import { Metrics } from './metrics.ts'
import { observability } from './observability.ts'
import { startTestServer } from './test-server.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })

/** The families in a section of docs/metrics.md: the first column of its table. */
async function documented(section: string): Promise<readonly string[]> {
  const page = fileURLToPath(new URL('../../docs/metrics.md', import.meta.url))
  const text = Buffer.from(await platform.files.read(page)).toString()
  const [, content = ''] = text.split(`\n### ${section}\n`)
  const [table = ''] = content.split('\n#')
  return Array.from(table.matchAll(/^\| `(\w+)` \|/gm), ([, name]) => name!)
}

async function start(t: TestContext) {
  const { clock } = platform
  const metrics = new Metrics({ usage: processUsage, clock })
  const memory = await MemoryStore.open({ platform })
  metrics.store.readSpace(memory.space)
  metrics.store.readAlarms(memory.alarms)
  const log = await openHistoryLog({ platform, folder: undefined, maxAgeMs: 86_400_000, maxBytes: 1_000_000 })
  t.after(() => log[Symbol.asyncDispose]())
  const server = await startTestServer(t, platform, {
    history: { log },
    metrics,
    store: measuredStore(memory, metrics, clock),
    admission: await readAdmission(platform.files, { enable: [], disable: ['ServiceAccount'] }),
    observability: observability({ health: new Health(platform), metrics }),
    limits: { fairness: 'priority and fairness', readOnly: 400, mutating: 200 },
  })
  return { ...server, metrics }
}

/** A few requests of every kind that need nothing but the API server. */
async function exercise({ request, watch }: Awaited<ReturnType<typeof start>>): Promise<void> {
  const metadata = { name: 'web' }
  const spec = { containers: [{ name: 'main', image: 'image' }] }
  const pod = { kind: 'Pod', apiVersion: 'v1', metadata, spec }
  const pods = '/api/v1/namespaces/default/pods'
  assert.equal((await request('POST', pods, pod)).code, 201)
  const ports = [{ port: 80 }]
  const service = { kind: 'Service', apiVersion: 'v1', metadata, spec: { type: 'NodePort', ports } }
  assert.equal((await request('POST', '/api/v1/namespaces/default/services', service)).code, 201)
  assert.equal((await request('GET', `${pods}/web`)).code, 200)
  assert.equal((await request('GET', '/api/v1/pods')).code, 200)
  assert.equal((await request('GET', '/api/v1/endpoints')).code, 200)
  const patch = { metadata: { labels: { a: 'b' } } }
  const mediaType = { 'content-type': 'application/merge-patch+json' }
  assert.equal((await request('PATCH', `${pods}/web`, patch, mediaType)).code, 200)
  const streaming = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'
  assert.equal((await watch(`/api/v1/pods?watch=1&${streaming}`, 2)).length, 2)
}

test('docs/metrics.md lists the families of the API server', async t => {
  const server = await start(t)
  await exercise(server)
  const { text } = await server.request('GET', '/metrics')
  const rendered = Array.from(text.matchAll(/^# TYPE (\w+) /gm), ([, name]) => name!)
  const [always, onUse] = [await documented('Always'), await documented('On use')]
  const listed = new Set([...always, ...onUse])
  assert.equal(listed.size, always.length + onUse.length, 'no family is listed twice')
  assert.deepEqual(
    rendered.filter(name => !listed.has(name)),
    [],
    'rendered families that are not listed',
  )
  assert.deepEqual(
    always.filter(name => !rendered.includes(name)),
    [],
    'families listed as always that are not rendered',
  )
  const registered = new Set(server.metrics.registry.metrics.map(({ name }) => name))
  // The first sync of the embedded store registers it.
  registered.add('etcd_disk_wal_fsync_duration_seconds')
  assert.deepEqual(
    [...listed].filter(name => !registered.has(name)),
    [],
    'listed families that do not exist',
  )
  assert.deepEqual(
    [...registered].filter(name => !listed.has(name)),
    [],
    'families that are not listed',
  )
})
