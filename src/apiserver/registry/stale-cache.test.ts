/** Writes through an API server whose watch cache is behind the writes of others. */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { nodePlatform } from '#/platform/node.ts'
import { MemoryStore } from '#/store/memory.ts'
import type { Store, Watch, WatchOptions } from '#/store/store.ts'
import { startTestServer, type TestServer } from '../test-server.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })

const maps = '/api/v1/namespaces/default/configmaps'

const applyHeaders = { 'content-type': 'application/apply-patch+yaml' }

test('a create succeeds after another API server has deleted the object', async t => {
  const { ahead, behind, close } = await twoServers(t)
  await ahead.request('POST', maps, configMap('a', '1'))
  assert.equal((await behind.request('GET', `${maps}/a`)).code, 200)
  close()
  await ahead.request('DELETE', `${maps}/a`)
  assert.equal((await behind.request('POST', maps, configMap('a', '2'))).code, 201)
})

test('a deletion with the resourceVersion of another API server succeeds, and one with an older conflicts', async t => {
  const { ahead, behind, close } = await twoServers(t)
  const first = await ahead.request('POST', maps, configMap('a', '1'))
  assert.equal((await behind.request('GET', `${maps}/a`)).code, 200)
  close()
  const second = await ahead.request('PUT', `${maps}/a`, configMap('a', '2'))
  const deletion = ({ body }: typeof first): Promise<{ readonly code: number }> => {
    const { resourceVersion } = body['metadata']
    return behind.request('DELETE', `${maps}/a`, { preconditions: { resourceVersion } })
  }
  assert.equal((await deletion(first)).code, 409)
  assert.equal((await deletion(second)).code, 200)
})

test('an update of an object that another API server has deleted is NotFound', async t => {
  const { ahead, behind, close } = await twoServers(t)
  const first = await ahead.request('POST', maps, configMap('a', '1'))
  const second = await ahead.request('PUT', `${maps}/a`, configMap('a', '2'))
  assert.equal((await behind.request('GET', `${maps}/a`)).code, 200)
  close()
  await ahead.request('DELETE', `${maps}/a`)
  for (const { body } of [first, second]) {
    assert.equal((await behind.request('PUT', `${maps}/a`, { ...body, data: { k: '3' } })).code, 404)
  }
})

test('a write of what an object was before another API server has changed it is not lost', async t => {
  const { ahead, behind, close } = await twoServers(t)
  const first = await ahead.request('POST', maps, configMap('a', '1'))
  assert.equal((await behind.request('GET', `${maps}/a`)).code, 200)
  close()
  await ahead.request('PUT', `${maps}/a`, configMap('a', '2'))
  const stale = await behind.request('PUT', `${maps}/a`, first.body)
  assert.deepEqual([stale.code, stale.body.reason], [409, 'Conflict'])
  assert.equal((await behind.request('PUT', `${maps}/a`, configMap('a', '1'))).code, 200)
  assert.deepEqual((await ahead.request('GET', `${maps}/a`)).body['data'], { k: '1' })
})

test('an update is validated against what another API server has written', async t => {
  const { ahead, behind, close } = await twoServers(t)
  await ahead.request('POST', maps, { ...configMap('a', '1'), immutable: true })
  assert.equal((await behind.request('GET', `${maps}/a`)).code, 200)
  assert.equal((await behind.request('PUT', `${maps}/a`, configMap('a', '2'))).code, 422)
  close()
  await ahead.request('DELETE', `${maps}/a`)
  const { body } = await ahead.request('POST', maps, configMap('a', '2'))
  const updated = await behind.request('PUT', `${maps}/a`, { ...body, data: { k: '3' } })
  assert.deepEqual([updated.code, updated.body['data']], [200, { k: '3' }], updated.text)
  assert.equal((await behind.request('PUT', `${maps}/a`, configMap('a', '4'))).code, 200)
})

test('an apply that is overtaken by a create applies to what was created', async t => {
  const store = await MemoryStore.open({ platform })
  let overtake: (() => Promise<unknown>) | undefined
  const create: Store['create'] = async (key, ...rest) => {
    if (key.endsWith('/configmaps/default/a')) {
      const first = overtake
      overtake = undefined
      await first?.()
    }
    return store.create(key, ...rest)
  }
  const { request } = await startTestServer(t, platform, { store: shared(store, { create }) })
  t.after(() => store[Symbol.asyncDispose]())
  overtake = () => request('POST', maps, configMap('a', '1'))
  const apply = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { applied: 'yes' } }
  const applied = await request('PATCH', `${maps}/a?fieldManager=test`, apply, applyHeaders)
  assert.equal(applied.code, 200, applied.text)
  assert.deepEqual(applied.body['data'], { k: '1', applied: 'yes' })
})

interface TwoServers {
  readonly ahead: TestServer
  readonly behind: TestServer
  /** From now on the second server's cache gets no events. */
  readonly close: () => void
}

async function twoServers(t: TestContext): Promise<TwoServers> {
  const store = await MemoryStore.open({ platform })
  const ended = Promise.withResolvers<void>()
  // Before the hooks that stop the servers, which wait for the watch.
  t.after(() => ended.resolve())
  let isClosed = false
  const watch = (options: WatchOptions): Watch => {
    const events = store.watch(options)
    return {
      requestProgress: () => events.requestProgress(),
      async *[Symbol.asyncIterator]() {
        for await (const batch of events) {
          if (isClosed) await ended.promise
          yield batch
        }
      },
    }
  }
  const ahead = await startTestServer(t, platform, { store: shared(store, {}) })
  const behind = await startTestServer(t, platform, { store: shared(store, { watch }) })
  t.after(() => store[Symbol.asyncDispose]())
  return {
    ahead,
    behind,
    close: () => {
      isClosed = true
    },
  }
}

/** A store with some members of its own. It stays open when the server stops. */
function shared(store: MemoryStore, members: Partial<Store>): Store {
  const own: Readonly<Record<PropertyKey, unknown>> = {
    ...members,
    [Symbol.asyncDispose]: async () => undefined,
  }
  return new Proxy<Store>(store, {
    get: (_target, name) => {
      if (Object.hasOwn(own, name)) return own[name]
      const member: unknown = Reflect.get(store, name, store)
      return typeof member === 'function' ? member.bind(store) : member
    },
  })
}

function configMap(name: string, k: string): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { k } }
}
