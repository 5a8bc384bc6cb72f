import { encodedObject } from '#/api/encoded-object.ts'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { builtinResources } from '#/api/builtin.ts'
import type { CustomResourceColumnDefinition } from '#/api/generated/apiextensions/v1.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { apiVersionOf, type Resource } from '#/api/resource.ts'
import { printerColumnsOf } from '#/api/custom-resources/printer-columns.ts'
import { formatTime } from '#/api/text/time.ts'
import { Simulation } from '#/platform/simulated.ts'
import { encodeForStore, StoredObject } from './registry/stored-object.ts'
import { Table } from './table.ts'
import { testRequest } from './test-request.ts'
import { startTestServer } from './test-server.ts'
import { View } from './view.ts'

const startMs = Date.UTC(2026, 4, 4, 12)

function ago(seconds: number): string {
  return formatTime(startMs - seconds * 1_000)
}

interface TestTable {
  /** The rows of the encoded table, and those that are rendered for callers within the process. */
  readonly rows: (nowMs: number) => readonly [encoded: unknown, rendered: unknown]
}

function tableOf(resource: Resource, objects: readonly object[], include: string): TestTable {
  const { storage, kind } = resource
  const stored = objects.map((object, index) => {
    const value = encodeForStore({ kind, apiVersion: apiVersionOf(storage), ...(object as KubernetesObject) })
    return new StoredObject({ key: `/${index}`, revision: index + 1, value })
  })
  let nowMs = startMs
  const clock = { ...new Simulation({ seed: 1 }).host('a').clock, now: () => nowMs }
  const transform = { kind: 'Table', version: 'v1' } as const
  const view = new View(resource, { format: 'json', pretty: false, transform })
  const { request } = testRequest(`/x?includeObject=${include}`, {})
  const table = new Table(view, { context: { request }, registry: { platform: { clock } } })
  return {
    rows: time => {
      nowMs = time
      const body = table.body({ objects: stored, meta: { resourceVersion: '1' } })
      const encoded = JSON.parse(Buffer.concat(body.bytes()).toString()) as { readonly rows: unknown }
      const { rows } = JSON.parse(JSON.stringify(body.value)) as { readonly rows: unknown }
      return [encoded.rows, rows]
    },
  }
}

const metadata = { name: 'ä"b\\', creationTimestamp: ago(300), labels: { a: '\u2028' } }

const restarted = {
  name: 'a',
  ready: true,
  restartCount: 3,
  lastState: { terminated: { finishedAt: ago(60) } },
  state: { running: {} },
}

/** Objects whose rows have other ages than that of the object, or conditions. */
const furtherObjects: Readonly<Record<string, readonly object[]>> = {
  Pod: [
    { metadata, spec: { containers: [{ name: 'a' }] }, status: { containerStatuses: [restarted] } },
    { metadata, spec: {}, status: { phase: 'Failed' } },
  ],
  Job: [
    { metadata, status: { startTime: ago(100) } },
    { metadata, status: { startTime: ago(100), completionTime: ago(40) } },
  ],
  CronJob: [{ metadata, status: { lastScheduleTime: ago(7_200) } }],
  Event: [{ metadata, firstTimestamp: ago(90), lastTimestamp: ago(30), count: 2 }],
  DeviceTaintRule: [{ metadata, spec: { taint: { key: 'a', effect: 'NoExecute', timeAdded: ago(20) } } }],
}

test('encoded rows are those that are rendered at any time, for all kinds', () => {
  for (const resource of builtinResources()) {
    const objects = [{ metadata }, { metadata: { name: 'b' } }, ...(furtherObjects[resource.kind] ?? [])]
    for (const include of ['None', 'Metadata', 'Object']) {
      const { rows } = tableOf(resource, objects, include)
      for (const seconds of [0, 1, 250, 100_000]) {
        const [encoded, rendered] = rows(startMs + seconds * 1_000)
        const expected = (rendered as readonly object[]).map(withEncodedObject)
        assert.deepEqual(encoded, expected, `${resource.kind} with ${include}`)
      }
    }
  }
})

function withEncodedObject(row: { readonly object?: object }): object {
  return row.object ? { ...row, object: encodedObject(row.object) } : row
}

test('the columns of custom resources have ages that advance', () => {
  const [resource] = builtinResources()
  const definitions: readonly CustomResourceColumnDefinition[] = [
    { name: 'Since', type: 'date', jsonPath: '.spec.since' },
    { name: 'Count', type: 'integer', jsonPath: '.spec.count' },
    { name: 'Wrong', type: 'date', jsonPath: '.spec.count' },
    { name: 'None', type: 'date', jsonPath: '.spec.none' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ]
  const columns = printerColumnsOf(definitions)
  const object = { metadata, spec: { since: ago(10), count: 2 } }
  const { rows } = tableOf({ ...resource!, columns }, [object], 'None')
  const check = (nowMs: number, since: string, age: string): void => {
    assert.deepEqual(rows(nowMs)[0], [{ cells: [metadata.name, since, 2, null, null, age], object: null }])
  }
  check(startMs, '10s', '5m')
  check(startMs + 31_000, '41s', '5m31s')
  check(startMs + 3_600_000, '60m', '65m')
})

test('a row is rendered once per version of the object', () => {
  const [resource] = builtinResources()
  let rendered = 0
  const columns = {
    columns: [],
    cells: (object: KubernetesObject) => {
      rendered++
      return [object.metadata.name ?? '']
    },
  }
  const stored = new StoredObject({
    key: '/a',
    revision: 1,
    value: encodeForStore({ kind: 'A', apiVersion: 'v1', metadata: { name: 'a' } }),
  })
  const transform = { kind: 'Table', version: 'v1' } as const
  const view = new View({ ...resource!, columns }, { format: 'json', pretty: false, transform })
  const { request } = testRequest('/x', {})
  const platform = new Simulation({ seed: 1 }).host('a')
  const textOf = (object: StoredObject): string => {
    const table = new Table(view, { context: { request }, registry: { platform } })
    const body = table.body({ objects: [object], meta: { resourceVersion: '1' } })
    return Buffer.concat(body.bytes()).toString()
  }
  assert.equal(textOf(stored), textOf(stored))
  assert.equal(rendered, 1)
  assert.match(textOf(stored.at(2)), /"resourceVersion":"2"/u)
  assert.equal(rendered, 2)
  // Its memory is released like that of other encodings.
  stored.releaseDecoded()
  assert.equal(textOf(stored), textOf(stored))
  assert.equal(rendered, 3)
})

test('lists and watches as Table show the current version of an object', async t => {
  const { request, raw } = await startTestServer(t)
  const maps = '/api/v1/namespaces/default/configmaps'
  const headers = { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' }
  const checkDataCount = async (count: number): Promise<void> => {
    const { body } = await request('GET', maps, undefined, headers)
    const [row] = body['rows'] as unknown as readonly { readonly cells: readonly unknown[] }[]
    assert.deepEqual(row?.cells.slice(0, 2), ['a', count])
    assert.match(String(row?.cells[2]), /^\d+s$/u)
  }
  await request('POST', maps, { metadata: { name: 'a' }, data: { x: '1' } })
  await checkDataCount(1)
  await request('PUT', `${maps}/a`, { metadata: { name: 'a' }, data: { x: '1', y: '2' } })
  await checkDataCount(2)
  const watch = await raw('GET', `${maps}?watch=1&timeoutSeconds=1&includeObject=Object`, { headers })
  assert.ok(watch.body?.type === 'stream')
  const chunks = (await Array.fromAsync(watch.body.chunks)).flat()
  assert.equal(chunks.length, 1)
  for (const chunk of chunks) {
    const encoded: unknown = JSON.parse(Buffer.from(chunk.bytes()).toString())
    assert.deepEqual(encoded, JSON.parse(JSON.stringify(chunk.value)))
  }
})

test('an included object has the version of the request', async t => {
  const { request } = await startTestServer(t)
  const path = 'namespaces/default/horizontalpodautoscalers'
  const created = await request('POST', `/apis/autoscaling/v2/${path}`, {
    metadata: { name: 'a' },
    spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }, maxReplicas: 3 },
  })
  assert.equal(created.code, 201, created.text)
  for (const version of ['v1', 'v2']) {
    const url = `/apis/autoscaling/${version}/${path}?includeObject=Object`
    const accept = 'application/json;as=Table;g=meta.k8s.io;v=v1'
    const { body } = await request('GET', url, undefined, { accept })
    const [row] = body['rows'] as unknown as readonly { readonly object: unknown }[]
    const { body: object } = await request('GET', `/apis/autoscaling/${version}/${path}/a`)
    assert.deepEqual(row?.object, object)
  }
})

test('metadata alone is without the annotations that only conversion adds', async t => {
  const { request } = await startTestServer(t)
  const labels = { a: 'b' }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'a', image: 'a' }] } }
  const spec = { selector: { matchLabels: labels }, template }
  const daemonSets = '/apis/apps/v1/namespaces/default/daemonsets'
  for (const annotations of [undefined, { own: 'x' }]) {
    const name = annotations ? 'annotated' : 'plain'
    const { body } = await request('POST', daemonSets, { metadata: { name, annotations }, spec })
    const generation = { 'deprecated.daemonset.template.generation': '1' }
    assert.deepEqual(body.metadata.annotations, { ...annotations, ...generation })
    const path = `${daemonSets}/${name}`
    const accept = (as: string): object => ({ accept: `application/json;as=${as};v=v1;g=meta.k8s.io` })
    const partial = await request('GET', path, undefined, { ...accept('PartialObjectMetadata') })
    assert.deepEqual(partial.body.metadata.annotations, annotations)
    const table = await request('GET', path, undefined, { ...accept('Table') })
    const [row] = (table.body as unknown as { rows: [{ object: KubernetesObject }] }).rows
    assert.deepEqual(row.object.metadata.annotations, annotations)
  }
})
