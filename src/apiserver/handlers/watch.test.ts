import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestServer, type TestServer, type WatchEvent } from '../test-server.ts'

const maps = '/api/v1/namespaces/default/configmaps'

test('a watch from a resourceVersion sends later events once and in order', async t => {
  const server = await startTestServer(t)
  const created = await server.request('POST', maps, configMap('a'))
  const version = String(created.body['metadata']['resourceVersion'])
  await put(server, 'a', { step: '2' })
  await server.request('POST', maps, configMap('b'))
  await server.request('DELETE', `${maps}/a`)
  const events = await server.watch(`${maps}?watch=1&resourceVersion=${version}`, 3)
  assert.deepEqual(events.map(show), ['MODIFIED a', 'ADDED b', 'DELETED a'])
})

test('watchers see the deletionTimestamp of a pod that is deleted without a grace period', async t => {
  const server = await startTestServer(t)
  const pods = '/api/v1/namespaces/default/pods'
  const spec = { containers: [{ name: 'a', image: 'a' }] }
  const created = await server.request('POST', pods, { metadata: { name: 'a' }, spec })
  const version = String(created.body['metadata']['resourceVersion'])
  const deleted = await server.request('DELETE', `${pods}/a`)
  assert.equal(deleted.code, 200, deleted.text)
  const events = await server.watch(`${pods}?watch=1&resourceVersion=${version}`, 2)
  assert.deepEqual(events.map(show), ['MODIFIED a', 'DELETED a'])
  for (const { object } of events) {
    assert.ok(object.metadata['deletionTimestamp'])
    assert.equal(object.metadata['deletionGracePeriodSeconds'], 0)
  }
})

test('a watch resumes from before the events that the cache has released after a load', async t => {
  let release = (): void => undefined
  const memory = {
    heapBytesMax: 2 ** 30,
    residentBytesMax: 2 ** 32,
    isNearlyExhausted: () => false,
    onIdle: (callback: () => void) => void (release = callback),
  }
  const server = await startTestServer(t, undefined, { memory })
  const created = await server.request('POST', maps, configMap('a'))
  const version = String(created.body['metadata']['resourceVersion'])
  const steps = Array.from({ length: 1_100 }, (_, step) => String(step))
  for (const step of steps) await put(server, 'a', { step })
  release()
  await server.request('DELETE', `${maps}/a`)
  const events = await server.watch(`${maps}?watch=1&resourceVersion=${version}`, steps.length + 1)
  const seen = events.map(({ type, object }) => [type, object.metadata['labels']])
  assert.deepEqual(seen, [...steps.map(step => ['MODIFIED', { step }]), ['DELETED', { step: '1099' }]])
  assert.equal((await server.request('GET', `${maps}/a`)).code, 404)
})

test('a watch without resourceVersion starts with the existing objects', async t => {
  const server = await startTestServer(t)
  await server.request('POST', maps, configMap('a'))
  assert.deepEqual((await server.watch(`${maps}?watch=1`, 1)).map(show), ['ADDED a'])
})

test('sendInitialEvents ends with an annotated bookmark', async t => {
  const server = await startTestServer(t)
  for (const name of ['a', 'b']) await server.request('POST', maps, configMap(name))
  const query = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'
  const events = await server.watch(`${maps}?${query}`, 3)
  assert.deepEqual(
    events.map(event => event.type),
    ['ADDED', 'ADDED', 'BOOKMARK'],
  )
  assert.deepEqual(events[2]?.object.metadata['annotations'], { 'k8s.io/initial-events-end': 'true' })
  assert.ok(events[2]?.object.metadata['resourceVersion'])
})

test('a bookmark precedes the timeout of a watch', async t => {
  const server = await startTestServer(t)
  const { metadata } = (await server.request('POST', maps, configMap('a'))).body
  const version = String(metadata['resourceVersion'])
  const query = `watch=1&resourceVersion=${version}&timeoutSeconds=3&allowWatchBookmarks=true`
  const [bookmark] = await server.watch(`${maps}?${query}`, 1)
  assert.equal(bookmark?.type, 'BOOKMARK')
  assert.ok(Number(bookmark.object.metadata['resourceVersion']) >= Number(version))
})

test('a watch with a selector sends ADDED and DELETED as objects start and stop matching', async t => {
  const server = await startTestServer(t)
  const start = await server.request('POST', maps, configMap('a', { team: 'red' }))
  const version = String(start.body['metadata']['resourceVersion'])
  await put(server, 'a', { team: 'blue' })
  await put(server, 'a', { team: 'blue', more: 'x' })
  await put(server, 'a', { team: 'red' })
  const events = await server.watch(`${maps}?watch=1&resourceVersion=${version}&labelSelector=team=blue`, 3)
  assert.deepEqual(events.map(show), ['ADDED a', 'MODIFIED a', 'DELETED a'])
  assert.deepEqual(events[2]?.object.metadata['labels'], { team: 'blue', more: 'x' })
  const versions = events.map(event => Number(event.object.metadata['resourceVersion']))
  assert.deepEqual(
    versions,
    [...versions].sort((left, right) => left - right),
  )
})

test('a watch with a metadata.name selector sees only that object', async t => {
  const server = await startTestServer(t)
  for (const name of ['a', 'b']) await server.request('POST', maps, configMap(name))
  assert.deepEqual((await server.watch(`${maps}?watch=1&fieldSelector=metadata.name=b`, 1)).map(show), [
    'ADDED b',
  ])
})

test('a watch ends after timeoutSeconds', async t => {
  const server = await startTestServer(t)
  const events = await server.watch(`${maps}?watch=1&timeoutSeconds=1`, 1)
  assert.deepEqual(events, [])
})

test('a slow watch ends with 410 and does not affect others', async t => {
  const server = await startTestServer(t)
  const controller = new AbortController()
  const response = await server.raw('GET', `${maps}?watch=1&resourceVersion=1`, { signal: controller.signal })
  assert.ok(response.body?.type === 'stream')
  const iterator = response.body.chunks[Symbol.asyncIterator]()
  const opening = iterator.next()
  await server.request('POST', maps, configMap('a'))
  await opening
  for (let round = 0; round < 110; round++) {
    await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        server.request('POST', maps, configMap(`m${round}-${index}`)),
      ),
    )
  }
  const texts: string[] = []
  for (let step = await iterator.next(); !step.done; step = await iterator.next()) {
    texts.push(...step.value.map(chunk => Buffer.from(chunk.bytes()).toString()))
  }
  controller.abort()
  const last = JSON.parse(texts.at(-1)!) as WatchEvent
  assert.deepEqual([last.type, last.object.code, last.object.reason], ['ERROR', 410, 'Expired'])
})

test('a watch as YAML or with invalid options is rejected', async t => {
  const { request } = await startTestServer(t)
  assert.equal((await request('GET', `${maps}?watch=1`, undefined, { accept: 'application/yaml' })).code, 406)
  assert.equal((await request('GET', `${maps}?watch=1&sendInitialEvents=true`)).code, 422)
  assert.equal((await request('GET', `${maps}?watch=1&resourceVersion=abc`)).code, 500)
})

test('a watch as Table sends columns only with the first event', async t => {
  const server = await startTestServer(t)
  for (const name of ['a', 'b']) await server.request('POST', maps, configMap(name))
  const accept = 'application/json;as=Table;g=meta.k8s.io;v=v1'
  const response = await server.raw('GET', `${maps}?watch=1&timeoutSeconds=1`, { headers: { accept } })
  assert.ok(response.body?.type === 'stream')
  const tables: { columnDefinitions: unknown[] | null; rows: { cells: unknown[] }[] }[] = []
  for await (const chunks of response.body.chunks) {
    for (const chunk of chunks)
      tables.push((JSON.parse(Buffer.from(chunk.bytes()).toString()) as { object: never }).object)
  }
  assert.deepEqual(
    tables.map(table => table.columnDefinitions !== null),
    [true, false],
  )
  assert.deepEqual(
    tables.map(table => table.rows[0]?.cells[0]),
    ['a', 'b'],
  )
})

async function put(
  server: TestServer,
  name: string,
  labels: Readonly<Record<string, string>>,
): Promise<void> {
  const answer = await server.request('PUT', `${maps}/${name}`, configMap(name, labels))
  assert.equal(answer.code, 200, answer.text)
}

function configMap(name: string, labels: Readonly<Record<string, string>> = {}) {
  return { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name, labels } }
}

function show({ type, object }: WatchEvent): string {
  return `${type} ${String(object.metadata['name'])}`
}

test('bookmarks of scalable workloads have zero replicas, as conversion from an empty object gives', async t => {
  const { watch } = await startTestServer(t)
  const query = 'watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan'
  for (const plural of ['deployments', 'replicasets', 'statefulsets', 'daemonsets']) {
    const [bookmark] = await watch(`/apis/apps/v1/${plural}?${query}`, 1)
    assert.ok(bookmark)
    const { spec } = bookmark.object as unknown as { readonly spec: { readonly replicas?: number } }
    assert.equal(spec.replicas, plural === 'daemonsets' ? undefined : 0, plural)
    const { annotations } = bookmark.object.metadata
    assert.deepEqual(annotations, {
      ...(plural === 'daemonsets' && { 'deprecated.daemonset.template.generation': '0' }),
      'k8s.io/initial-events-end': 'true',
    })
  }
})
