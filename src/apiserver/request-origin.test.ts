import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { decodeOrigin, encodePass, passHeader, type Origin, type Pass } from '#/api/origin.ts'
import { nodePlatform } from '#/platform/node.ts'
import { MemoryStore } from '#/store/memory.ts'
import { startTestServer, type TestServer } from './test-server.ts'

const path = '/api/v1/namespaces/default/configmaps'
const configMap = (data: Record<string, string>): object => ({ metadata: { name: 'a' }, data })

interface Recording {
  readonly nowMs: () => number
  readonly server: TestServer
  /** Waits for the origin of the write at the revision of the answer, undefined if it has none. */
  readonly originAt: (resourceVersion: string) => Promise<Origin | undefined>
}

async function startRecording(t: TestContext, recordsOrigins = true): Promise<Recording> {
  const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
  const store = await MemoryStore.open({ platform })
  const server = await startTestServer(t, platform, { store, recordsOrigins })
  return {
    server,
    nowMs: () => platform.clock.now(),
    originAt: async resourceVersion => {
      const revision = Number(resourceVersion)
      for await (const { events } of store.watch({ prefix: '/registry/', afterRevision: revision - 1 })) {
        const event = events.find(each => each.revision === revision)
        if (event) return event.note && decodeOrigin(event.note)
      }
      return undefined
    },
  }
}

function versionOf({ body }: { readonly body: unknown }): string {
  return (body as { readonly metadata: { readonly resourceVersion: string } }).metadata.resourceVersion
}

test('a write is stored with user, client, verb and the steps of its request', async t => {
  const { server, originAt, nowMs } = await startRecording(t)
  const before = nowMs()
  const created = await server.request('POST', `${path}?fieldManager=me`, configMap({}))
  const origin = (await originAt(versionOf(created)))!
  assert.equal(origin.user, 'kubernetes-admin')
  assert.equal(origin.userAgent, 'test/1.0')
  assert.equal(origin.verb, 'create')
  assert.equal(origin.fieldManager, 'me')
  assert.ok(origin.receivedMs >= before - 1 && origin.receivedMs <= nowMs())
  // These are steps only if they took time.
  const slow = new Set(['decode', 'admission'])
  const names = origin.steps.map(({ name }) => name).filter(name => !slow.has(name))
  assert.deepEqual(names, ['authentication', 'authorization', 'mutating-admission', 'store'])
  for (const { startMs, durationMs } of origin.steps) assert.ok(startMs >= 0 && durationMs >= 0)
})

test('verb and subresource are those of the request', async t => {
  const { server, originAt } = await startRecording(t)
  await server.request('POST', path, configMap({}))
  const cases: readonly [string, unknown, Record<string, string>, string][] = [
    ['PUT', configMap({ a: '1' }), {}, 'update'],
    ['PATCH', { data: { a: '2' } }, { 'content-type': 'application/merge-patch+json' }, 'patch'],
    [
      'PATCH',
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { b: '1' } },
      { 'content-type': 'application/apply-patch+yaml' },
      'apply',
    ],
  ]
  for (const [method, body, headers, verb] of cases) {
    const answer = await server.request(method, `${path}/a?fieldManager=m`, body, headers)
    assert.equal((await originAt(versionOf(answer)))?.verb, verb)
  }
  const namespace = await server.request('POST', '/api/v1/namespaces', { metadata: { name: 'gone' } })
  const deleted = await server.request('DELETE', '/api/v1/namespaces/gone')
  const { body } = deleted as unknown as { readonly body: object }
  const { status: _, ...object } = body as { readonly status: unknown }
  assert.notEqual(versionOf(deleted), versionOf(namespace))
  assert.equal((await originAt(versionOf(deleted)))?.verb, 'delete')
  const finalized = await server.request('PUT', '/api/v1/namespaces/gone/status', {
    ...object,
    status: { phase: 'Terminating', conditions: [] },
  })
  assert.equal(finalized.code, 200)
})

test('the pass of a component and the traceparent of a client are kept', async t => {
  const { server, originAt } = await startRecording(t)
  const pass: Pass = { component: 'c', key: 'a/b', causes: [3], queuedMs: 1, startedMs: 2, steps: [] }
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  const headers = { [passHeader]: encodePass(pass), traceparent }
  const origin = await originAt(versionOf(await server.request('POST', path, configMap({}), headers)))
  assert.deepEqual(origin?.pass, pass)
  assert.equal(origin?.traceparent, traceparent)
})

test('headers that are no pass and no traceparent are ignored', async t => {
  const { server, originAt } = await startRecording(t)
  const headers = { [passHeader]: 'x'.repeat(10_000), traceparent: '00-zz' }
  const origin = await originAt(versionOf(await server.request('POST', path, configMap({}), headers)))
  assert.equal(origin?.user, 'kubernetes-admin')
  assert.equal(origin?.pass, undefined)
  assert.equal(origin?.traceparent, undefined)
})

test('without recording, writes have no origin', async t => {
  const { server, originAt } = await startRecording(t, false)
  assert.equal(await originAt(versionOf(await server.request('POST', path, configMap({})))), undefined)
})
