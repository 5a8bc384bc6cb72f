import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { openHistoryLog, type HistoryLog } from '#/history/history-log.ts'
import { nodePlatform } from '#/platform/node.ts'
import { MemoryStore } from '#/store/memory.ts'
import type { Store } from '#/store/store.ts'
import { temporaryFolder } from '../../tests/temporary-folder.ts'
import { EncryptingStore, ResourceCiphers } from './encryption.ts'
import type { UserInfo } from './request.ts'
import {
  part,
  startTestServer,
  type AnyObject,
  type TestServer,
  type TestServerOptions,
} from './test-server.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
const limits = { maxAgeMs: 86_400_000, maxBytes: 64 * 1024 ** 2 }

/** For servers that a test stops itself, before their store is closed. */
const stopped = { after: () => undefined }

const path = (namespace = 'default', resource = 'configmaps'): string =>
  `/api/v1/namespaces/${namespace}/${resource}`
const merge = { 'content-type': 'application/merge-patch+json' }
const alice: UserInfo = { username: 'alice', groups: ['system:authenticated'] }

interface Recorded extends TestServer {
  readonly log: HistoryLog
  readonly set: (name: string, value: string, resource?: string) => Promise<number>
  readonly remove: (name: string) => Promise<number>
  readonly get: (url: string) => Promise<AnyObject>
  /** The lines of the stream, after the first. */
  readonly writes: (query: string, user?: UserInfo) => Promise<readonly Write[]>
}

interface Write {
  readonly revision: number
  readonly timeMs: number
  readonly type: string
  readonly object: Readonly<Record<string, string>>
  readonly origin?: { readonly user: string; readonly verb: string }
}

async function start(
  t: Pick<TestContext, 'after'>,
  options: TestServerOptions & { folder?: string } = {},
): Promise<Recorded> {
  const { folder, ...rest } = options
  const log = rest.history?.log ?? (await openHistoryLog({ platform, folder, ...limits }))
  t.after(() => log[Symbol.asyncDispose]())
  return recorded(await startTestServer(t, platform, { history: { log }, ...rest }), log)
}

function recorded(server: TestServer, log: HistoryLog): Recorded {
  const { request, raw } = server
  return {
    ...server,
    log,
    set: async (name, value, resource = 'configmaps') => {
      const object = { metadata: { name, labels: { value } }, data: { value: btoa(value) } }
      const url = `${path('default', resource)}/${name}`
      const patched = await request('PATCH', url, object, merge)
      return revisionOf(
        patched.code === 404 ? await request('POST', path('default', resource), object) : patched,
      )
    },
    remove: async name => {
      await request('DELETE', `${path()}/${name}`)
      return server.server.lastChange(server.server.scheme.named('configmaps')[0]!)
    },
    get: async url => {
      const { code, body, text } = await request('GET', url)
      assert.equal(code, 200, text)
      return body
    },
    writes: async (query, user) => {
      const lines = await readLines(raw, `/k8ts/writes?${query}`, { ...(user && { user }) })
      return lines.slice(1) as unknown as Write[]
    },
  }
}

async function readLines(
  raw: TestServer['raw'],
  url: string,
  options: Parameters<TestServer['raw']>[2],
): Promise<readonly AnyObject[]> {
  const { status, body } = await raw('GET', url, options)
  assert.equal(status, 200)
  assert.ok(body?.type === 'stream')
  const lines: AnyObject[] = []
  for await (const chunks of body.chunks)
    for (const chunk of chunks) lines.push(JSON.parse(Buffer.from(chunk.bytes()).toString()) as AnyObject)
  return lines
}

function revisionOf({ code, body, text }: Awaited<ReturnType<TestServer['request']>>): number {
  assert.ok(code < 300, text)
  return Number(body.metadata['resourceVersion'])
}

function itemsOf(body: AnyObject): readonly AnyObject[] {
  return part(body, 'items') as unknown as readonly AnyObject[]
}

const valueOf = (object: AnyObject): string =>
  atob((part(object, 'data') as Readonly<Record<string, unknown>>)['value'] as string)

/** `ADDED 1, DELETED 2` */
function summary(body: AnyObject): string {
  return itemsOf(body)
    .map(item => `${String(item['type'])} ${valueOf(part(item, 'object'))}`)
    .join(', ')
}

test('the history of an object has its versions with their origin, also after its deletion', async t => {
  const { set, remove, get, request } = await start(t)
  const created = await set('a', '1')
  await set('b', '1')
  await set('a', '2')
  const deleted = await remove('a')
  await set('a', '3')
  const history = await get(`${path()}/a?history=true`)
  assert.equal(history.kind, 'ObjectHistory')
  assert.equal(summary(history), 'ADDED 3, DELETED 2, MODIFIED 2, ADDED 1')
  const items = itemsOf(history)
  assert.deepEqual([Number(items[1]!['revision']), Number(items[3]!['revision'])], [deleted, created])
  assert.match(String(items[0]!['time']), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.equal(part(items[0]!, 'origin')['user'], 'kubernetes-admin')
  assert.equal(part(items[2]!, 'origin')['verb'], 'patch')
  assert.equal(part(items[3]!, 'object').metadata['resourceVersion'], String(created))
  assert.equal(part(items[3]!, 'object').kind, 'ConfigMap')

  const page = await get(`${path()}/a?history=true&limit=2`)
  assert.equal(summary(page), 'ADDED 3, DELETED 2')
  const next = String(page.metadata['continue'])
  assert.equal(summary(await get(`${path()}/a?history=true&before=${next}`)), 'MODIFIED 2, ADDED 1')
  assert.equal((await request('GET', `${path()}/never?history=true`)).code, 404)
})

test('an object that has not changed since recording began has one version', async t => {
  const store = await MemoryStore.open({ platform })
  const before = await startTestServer(stopped, platform, { store })
  await before.request('POST', path(), { metadata: { name: 'a', labels: {} }, data: { value: btoa('1') } })
  await before.server.stop()
  const { get, set } = await start(t, { store })
  assert.equal(summary(await get(`${path()}/a?history=true`)), 'ADDED 1')
  await set('a', '2')
  assert.equal(summary(await get(`${path()}/a?history=true`)), 'MODIFIED 2, ADDED 1')
})

test('an object is read at a revision and at a time', async t => {
  const { set, remove, get, request } = await start(t)
  const other = await set('other', '0')
  const first = await set('a', '1')
  const afterFirst = platform.clock.now()
  await platform.clock.sleep(3)
  const second = await set('a', '2')
  const deleted = await remove('a')
  const at = async (moment: string | number): Promise<string> => {
    const { code, body } = await request('GET', `${path()}/a?at=${moment}`)
    return code === 200 ? `${valueOf(body)} at ${String(body.metadata['resourceVersion'])}` : String(code)
  }
  assert.equal(await at(other), '404')
  assert.equal(await at(first), `1 at ${first}`)
  assert.equal(await at(new Date(afterFirst).toISOString()), `1 at ${first}`)
  assert.equal(await at(second), `2 at ${second}`)
  assert.equal(await at(deleted), '404')
  assert.equal(await at('2999-01-01T00:00:00Z'), '404')
  assert.equal(valueOf(await get(`${path()}/other?at=${deleted}`)), '0')
})

test('a list at a revision has what existed then, sorted, selected, and as a Table', async t => {
  const { set, remove, get, request } = await start(t)
  await set('c', 'kept')
  await set('b', 'old')
  const revision = await set('a', 'deleted')
  await set('b', 'new')
  await remove('a')
  await set('d', 'later')
  const namesAt = async (query: string): Promise<string> => {
    const list = await get(`${path()}?at=${revision}${query}`)
    assert.equal(list.kind, 'ConfigMapList')
    assert.equal(list.metadata['resourceVersion'], String(revision))
    return itemsOf(list)
      .map(item => `${String(item.metadata['name'])}=${valueOf(item)}`)
      .join(' ')
  }
  assert.equal(await namesAt(''), 'a=deleted b=old c=kept')
  assert.equal(await namesAt('&labelSelector=value%3Dold'), 'b=old')
  assert.equal(await namesAt('&fieldSelector=metadata.name%3Da'), 'a=deleted')
  const accept = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }
  const table = await request('GET', `${path()}?at=${revision}`, undefined, accept)
  assert.equal((part(table.body, 'rows') as unknown as unknown[]).length, 3)
  assert.equal((await request('GET', `/api/v1/configmaps?at=${revision}`)).code, 200)
})

test('requests for what is not kept are refused with the reason', async t => {
  const { set, log, request } = await start(t)
  const first = await set('a', '1')
  const check = async (url: string, code: number, message: RegExp): Promise<void> => {
    const { body } = await request('GET', url)
    assert.deepEqual([body.code, url], [code, url])
    assert.match(body.message!, message)
  }
  const object = `${path()}/a`
  await check(`${object}?at=soon`, 400, /^at: invalid value "soon": must be a resource version or a time/)
  await check(`${object}?at=0`, 400, /^at: /)
  await check(`${object}?at=${first}&history=true`, 400, /mutually exclusive/)
  await check(`${object}?at=${first}&resourceVersion=1`, 400, /mutually exclusive/)
  await check(`${object}?history=true&limit=x`, 400, /^limit: /)
  await check(`${path()}?history=true`, 400, /one object/)
  await check(`${path('default', 'events')}/a?history=true`, 400, /history of events is not recorded/)
  await check(`${object}?at=2001-01-01T00:00:00Z`, 410, /history is kept since \d{4}-.*revision \d+/)
  await check('/k8ts/writes?since=x', 400, /^since: /)
  await check('/k8ts/writes?after=-1', 400, /^after: /)
  await set('a', '2')
  log.noteGap()
  await request('POST', path('default', 'events'), { metadata: { name: 'e' }, involvedObject: {} })
  await set('a', '3')
  await check(`${object}?at=${first}`, 410, /^revision \d+ is too old: history is kept since/)
  const off = await startTestServer(t)
  for (const url of [`${object}?history=true`, `${object}?at=1`, `${path()}?at=1`, '/k8ts/writes']) {
    const { body } = await off.request('GET', url)
    assert.deepEqual(
      [body.code, body.message],
      [400, 'no history is kept: --history-max-age of the API server is 0'],
    )
  }
})

test('Secrets are encrypted in the files of the history, and readable by those who may get them', async t => {
  const folder = await temporaryFolder(t)
  const keys = [{ name: 'a', secret: Buffer.alloc(32, 7).toString('base64') }]
  const configuration = JSON.stringify({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'EncryptionConfiguration',
    resources: [{ resources: ['secrets'], providers: [{ aesgcm: { keys } }] }],
  })
  const connect = (): never => assert.fail('no KMS plugin')
  const encryption = await ResourceCiphers.open({ platform, connect, configuration })
  const inner = await MemoryStore.open({ platform })
  const store = new EncryptingStore({ store: inner, encryption, log: platform.log })
  const log = await openHistoryLog({ platform, folder, ...limits })
  const { set, get } = await start(t, { store, history: { log, encryption } })
  await set('s', 'hidden-first', 'secrets')
  await set('s', 'hidden-second', 'secrets')
  await set('c', 'visible')
  const history = await get(`${path('default', 'secrets')}/s?history=true`)
  assert.equal(summary(history), 'MODIFIED hidden-second, ADDED hidden-first')
  const revision = String(itemsOf(history)[1]!['revision'])
  assert.equal(valueOf(await get(`${path('default', 'secrets')}/s?at=${revision}`)), 'hidden-first')
  await log[Symbol.asyncDispose]()
  const reopened = await openHistoryLog({ platform, folder, ...limits })
  t.after(() => reopened[Symbol.asyncDispose]())
  let [values, plain] = ['', '']
  for await (const records of reopened.range({ afterRevision: 0, withValues: true })) {
    for (const { key, value = new Uint8Array() } of records) {
      const text = Buffer.from(value).toString('latin1')
      if (key.startsWith('/registry/secrets/')) values += text
      else plain += text
    }
  }
  assert.match(values, /^k8s:enc:aesgcm:/)
  assert.ok(!values.includes('hidden') && !values.includes(btoa('hidden-first')))
  assert.ok(plain.includes(btoa('visible')))
  const { files } = platform
  let fileCount = 0
  for (const name of await files.list(folder)) {
    const path = join(folder, name)
    if (!(await files.stat(path))?.isFile) continue
    const content = Buffer.from(await files.read(path))
    for (const text of ['hidden', btoa('hidden-first')]) assert.ok(!content.includes(text), name)
    fileCount++
  }
  assert.ok(fileCount > 0)
})

test('after a restart the history continues without a gap and without duplicates', async t => {
  const folder = await temporaryFolder(t)
  const store: Store = await MemoryStore.open({ platform })
  const first = await start(stopped, { store, folder })
  await first.set('a', '1')
  const stopAndClose = async ({ server, log }: Recorded): Promise<void> => {
    await server.stop()
    await log[Symbol.asyncDispose]()
  }
  await stopAndClose(first)
  const unrecorded = await startTestServer(stopped, platform, { store, recordsOrigins: true })
  await unrecorded.request('PATCH', `${path()}/a`, { data: { value: btoa('2') } }, merge)
  await unrecorded.request('PATCH', `${path()}/a`, { data: { value: btoa('3') } }, merge)
  await unrecorded.server.stop()
  const second = await start(stopped, { store, folder })
  const revision = await second.set('a', '4')
  const history = await second.get(`${path()}/a?history=true`)
  assert.equal(summary(history), 'MODIFIED 4, MODIFIED 3, MODIFIED 2, ADDED 1')
  for (const item of itemsOf(history)) assert.equal(part(item, 'origin')['user'], 'kubernetes-admin')
  const revisions = (await second.writes('namespace=default')).map(write => write.revision)
  assert.deepEqual(revisions, [...new Set(revisions)])
  assert.equal(revisions.at(-1), revision)
  await stopAndClose(second)

  const third = await startTestServer(stopped, platform, { store })
  await third.request('PATCH', `${path()}/a`, { data: { value: btoa('5') } }, merge)
  await third.request('PATCH', `${path()}/a`, { data: { value: btoa('6') } }, merge)
  await third.server.stop()
  await store.compact(await store.revision())
  const fourth = await start(t, { store, folder })
  await fourth.set('a', '7')
  const afterGap = await fourth.get(`${path()}/a?history=true`)
  // Version 5 is lost, and 6 is known because it was current when recording began again.
  const known = 'MODIFIED 7, MODIFIED 6, MODIFIED 4, MODIFIED 3, MODIFIED 2, ADDED 1'
  assert.equal(summary(afterGap), known)
  const pages: string[] = []
  for (let next = ''; pages.length < 10;) {
    const page = await fourth.get(`${path()}/a?history=true&limit=1${next && `&before=${next}`}`)
    pages.push(summary(page))
    if (page.metadata['continue'] === undefined) break
    next = String(Number(page.metadata['continue']))
  }
  assert.equal(pages.join(', '), known)
  assert.equal(itemsOf(afterGap)[1]!['origin'], undefined)
  assert.equal((await fourth.request('GET', `${path()}/a?at=${revision}`)).code, 410)
})

test('a list at the revision before recording began is refused', async t => {
  const store = await MemoryStore.open({ platform })
  const before = await startTestServer(stopped, platform, { store })
  await before.request('POST', path(), { metadata: { name: 'a' } })
  await before.server.stop()
  const last = await store.revision()
  const { get, request } = await start(t, { store })
  const since = Number(part(await get(`${path()}/a?history=true`), 'retainedSince')['revision'])
  const codesAt = async (revision: number): Promise<readonly number[]> =>
    Promise.all(
      [`${path()}?at=${revision}`, `${path()}/a?at=${revision}`].map(
        async url => (await request('GET', url)).code,
      ),
    )
  assert.equal(since, last, 'the revision at which the object was created')
  assert.deepEqual(await codesAt(last), [200, 200])
  assert.deepEqual(await codesAt(last - 1), [410, 410])
})

test('a history that is newer than the store is cleared', async t => {
  const folder = await temporaryFolder(t)
  const first = await start(t, { folder })
  for (let value = 0; value < 5; value++) await first.set('a', String(value))
  await first.server.stop()
  await first.log[Symbol.asyncDispose]()
  const second = await start(t, { folder })
  await second.set('a', 'other')
  assert.equal(summary(await second.get(`${path()}/a?history=true`)), 'ADDED other')
})

test('writes are listed in order, with filters', async t => {
  const { set, remove, writes, raw, request } = await start(t)
  const first = await set('a', '1')
  await request('POST', path('other'), { metadata: { name: 'x' } })
  await platform.clock.sleep(2)
  const since = new Date(platform.clock.now()).toISOString()
  await platform.clock.sleep(2)
  const third = await set('a', '2')
  const last = await remove('a')
  const check = async (query: string, expected: string): Promise<void> => {
    const found = (await writes(query)).filter(({ object }) => object['kind'] === 'ConfigMap')
    const shown = found.map(({ type, object }) => `${type} ${object['namespace']}/${object['name']}`)
    assert.equal(shown.join(', '), expected, query)
  }
  const tail = 'MODIFIED default/a, DELETED default/a'
  await check(`after=${first - 1}`, `ADDED default/a, ADDED other/x, ${tail}`)
  await check(`after=${first}&namespace=default`, tail)
  await check(`after=${first}&limit=2`, 'ADDED other/x, MODIFIED default/a')
  await check(`after=${first}&until=${third}`, 'ADDED other/x, MODIFIED default/a')
  await check(`since=${since}`, tail)
  const [write] = await writes(`after=${first - 1}&limit=1`)
  const uid = write!.object['uid']!
  assert.match(uid, /^[0-9a-f-]{36}$/)
  assert.deepEqual(write!.object, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    resource: 'configmaps',
    namespace: 'default',
    name: 'a',
    uid,
  })
  assert.deepEqual([write!.origin?.user, write!.origin?.verb], ['kubernetes-admin', 'create'])
  const [head] = await readLines(raw, '/k8ts/writes?limit=1', {})
  assert.equal(Number(head!['revision']), last)
  assert.ok(Number(part(head!, 'retainedSince')['revision']) < first)
})

const rbac = '/apis/rbac.authorization.k8s.io/v1'

async function allow(server: TestServer, namespace: string, resource: string, verb: string): Promise<void> {
  const roles = namespace === '' ? 'clusterroles' : 'roles'
  const folder = namespace === '' ? rbac : `${rbac}/namespaces/${namespace}`
  const name = `${verb}-${resource}`
  const rules = [{ apiGroups: [''], resources: [resource], verbs: [verb] }]
  const roleRef = {
    apiGroup: 'rbac.authorization.k8s.io',
    kind: namespace === '' ? 'ClusterRole' : 'Role',
    name,
  }
  const subjects = [{ kind: 'User', name: 'alice', apiGroup: 'rbac.authorization.k8s.io' }]
  const bindings = namespace === '' ? 'clusterrolebindings' : 'rolebindings'
  for (const [kind, body] of [
    [roles, { metadata: { name }, rules }],
    [bindings, { metadata: { name }, roleRef, subjects }],
  ] as const)
    assert.equal((await server.request('POST', `${folder}/${kind}`, body)).code, 201)
}

test('a user sees the writes to the objects that the user may get or list', async t => {
  const server = await start(t)
  const { set, writes, as } = server
  await set('s', 'secret', 'secrets')
  await set('a', '1')
  await server.request('POST', path('other'), { metadata: { name: 'b' } })
  const seen = async (): Promise<string> =>
    (await writes('', alice))
      .filter(({ object }) => object['namespace'] !== 'kube-system')
      .map(({ object }) => `${object['kind']} ${object['name']}`)
      .join(', ')
  assert.equal(await seen(), '')
  await allow(server, 'default', 'configmaps', 'get')
  assert.equal(await seen(), 'ConfigMap a')
  assert.equal((await as(alice)('GET', `${path()}/a?history=true`)).code, 200)
  for (const url of [
    `${path('default', 'secrets')}/s?history=true`,
    `${path()}?at=1`,
    `${path('other')}/b?at=1`,
  ])
    assert.equal((await as(alice)('GET', url)).code, 403, url)
  const anonymous: UserInfo = { username: 'system:anonymous', groups: ['system:unauthenticated'] }
  assert.equal((await as(anonymous)('GET', '/k8ts/writes')).code, 403)
  await allow(server, '', 'configmaps', 'list')
  assert.equal(await seen(), 'ConfigMap a, ConfigMap b')
})

test('objects of a namespace that was created again are hidden from users of the new one', async t => {
  const server = await start(t)
  const { request, writes, as } = server
  const create = async (value: string): Promise<number> => {
    await request('POST', '/api/v1/namespaces', { metadata: { name: 'team' } })
    const object = { metadata: { name: 'a' }, data: { value: btoa(value) } }
    return revisionOf(await request('POST', path('team'), object))
  }
  const revision = await create('of the former tenant')
  await request('DELETE', `${path('team')}/a`)
  await request('DELETE', '/api/v1/namespaces/team')
  await request('PUT', '/api/v1/namespaces/team/finalize', { metadata: { name: 'team' }, spec: {} })
  await create('new')
  for (const verb of ['get', 'list']) await allow(server, 'team', 'configmaps', verb)
  const answers = await as(alice)('GET', `${path('team')}/a?history=true`)
  assert.equal(summary(answers.body), 'ADDED new')
  assert.equal((await as(alice)('GET', `${path('team')}/a?at=${revision}`)).code, 404)
  assert.deepEqual(itemsOf((await as(alice)('GET', `${path('team')}?at=${revision}`)).body), [])
  assert.equal((await writes('namespace=team', alice)).length, 1)
  assert.equal(summary(await server.get(`${path('team')}/a?history=true`)).includes('former'), true)
})

test('a reader that follows gets new writes, and a slow one misses none', async t => {
  const { set, raw, log } = await start(t)
  const revision = await set('a', '0')
  const ended = new AbortController()
  const { body } = await raw('GET', `/k8ts/writes?after=${revision}&follow=true`, { signal: ended.signal })
  assert.ok(body?.type === 'stream')
  const chunks = body.chunks[Symbol.asyncIterator]()
  const next = async (): Promise<readonly Write[]> =>
    ((await chunks.next()).value as { readonly value: unknown }[]).map(({ value }) => value as Write)
  assert.equal((await next()).length, 1)
  const waiting = next()
  const one = await set('a', '1')
  assert.deepEqual(
    (await waiting).map(write => write.revision),
    [one],
  )
  // More than the backlog of a reader that does not read.
  const count = 600
  for (let value = 0; value < count; value++) await set('b', String(value))
  const found: number[] = []
  while (found.length < count) for (const write of await next()) found.push(write.revision)
  assert.deepEqual(
    found,
    [...new Set(found)].sort((left, right) => left - right),
  )
  assert.equal(found.at(-1), log.lastRevision)
  const last = chunks.next()
  ended.abort()
  assert.equal((await last).done, true)
})

test('passes are shown to users who may get nodes/proxy', async t => {
  const pass = { component: 'kube-proxy', key: 'a/b', causes: [7], queuedMs: 1, startedMs: 2, steps: [] }
  const list = (afterMs: number): { readonly endedMs: number }[] => [{ ...pass, endedMs: 5 + afterMs }]
  const server = await startTestServer(t, platform, { passes: { list } as never })
  assert.deepEqual(JSON.parse((await server.request('GET', '/k8ts/passes?after=3')).text), {
    passes: [{ ...pass, endedMs: 8 }],
  })
  assert.equal((await server.as(alice)('GET', '/k8ts/passes')).code, 403)
  assert.equal((await server.request('POST', '/k8ts/passes')).code, 405)
})
