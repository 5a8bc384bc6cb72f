import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { parseEncodedObject } from '#/api/encoded-object.ts'
import { builtinResources } from '#/api/builtin.ts'
import type { Status } from '#/api/errors.ts'
import type { SubjectAccessReviewStatus } from '#/api/generated/authorization/v1.ts'
import type { PodStatus } from '#/api/generated/core/v1.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import {
  decodeProtobuf,
  decodeProtobufWatchEvent,
  encodeProtobuf,
  protobufMediaType,
  WatchFrames,
} from '#/api/protobuf.ts'
import { apiVersionOf } from '#/api/resource.ts'
import { clusterForFile } from './cluster.ts'
import { Http2Client, type Answer, type Request } from './http2-client.ts'
import { hasStatusOfServer, isStatusWritten, samples, type Sample } from './samples.ts'
import { waitUntil } from '../wait-until.ts'

const cluster = await clusterForFile()
const client = await Http2Client.connect(cluster)
after(() => client[Symbol.asyncDispose]())

/** The headers of Go clients: protobuf, with JSON as the fallback. */
const goHeaders = { 'accept': `${protobufMediaType},application/json`, 'content-type': protobufMediaType }

const namespace = 'samples'
await send('POST', '/api/v1/namespaces', {
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: namespace },
})

interface Sent {
  readonly status: number
  readonly object: Stored
  readonly bytes: Buffer
}

async function send(method: string, path: string, body?: object): Promise<Sent> {
  const answer = await client.send({
    method,
    path,
    headers: goHeaders,
    ...(body && { body: encodeProtobuf(body) }),
  })
  assert.equal(answer.type, protobufMediaType, `${method} ${path}: ${answer.body.toString()}`)
  return { status: answer.status, object: decodeProtobuf(answer.body), bytes: answer.body }
}

async function sendJson(request: Request): Promise<Stored> {
  const { body, type } = await client.send({
    ...request,
    headers: { accept: 'application/json', ...request.headers },
  })
  assert.equal(type, 'application/json')
  return parseEncodedObject(body) as Stored
}

/** Any response: an object, a list or a Status. */
interface Stored extends Partial<KubernetesObject>, Pick<Status, 'message' | 'reason' | 'details'> {
  readonly items?: readonly KubernetesObject[]
  readonly spec?: unknown
  readonly status?: unknown
  readonly data?: unknown
}

function pathOf({ apiVersion, kind }: Sample): string {
  const resource = builtinResources().find(each => each.kind === kind && apiVersionOf(each) === apiVersion)!
  const root = resource.group === '' ? '/api' : '/apis'
  const place = resource.scope === 'Namespaced' ? `/namespaces/${namespace}` : ''
  return `${root}/${apiVersion}${place}/${resource.plural}`
}

/** Without empty and zero values: protobuf does not distinguish most of them from absent ones. */
function pruned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(pruned)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, each]) => [key, pruned(each)] as const)
  return Object.fromEntries(entries.filter(([, each]) => !isZero(each)))
}

function isZero(value: unknown): boolean {
  if (typeof value !== 'object') return value === 0 || value === false || value === ''
  return value !== null && Object.keys(value).length === 0
}

test('objects of every kind are written and read in protobuf, and JSON shows the same', async t => {
  for (const sample of samples) {
    await t.test(`${sample.apiVersion} ${sample.kind}`, async () => {
      const path = pathOf(sample)
      const one = `${path}/${sample.metadata.name}`
      const created = await send('POST', path, sample)
      assert.equal(created.status, 201, `${created.object.message}`)
      let read = await send('GET', one)
      if (hasStatusOfServer(sample)) {
        // The API server itself writes its status.
        await waitUntil(async () => {
          read = await send('GET', one)
          return isStatusWritten(sample, read.object)
        })
      } else {
        assert.deepEqual(read.bytes, created.bytes)
      }
      const json = await sendJson({ path: one })
      assert.deepEqual(pruned(read.object), pruned(json))
      assert.deepEqual(Buffer.from(encodeProtobuf(json)), read.bytes)

      const labels = { ...json.metadata?.labels, step: 'replaced' }
      const replaced = await send('PUT', one, { ...json, metadata: { ...json.metadata, labels } })
      assert.equal(replaced.status, 200, `${replaced.object.message}`)
      assert.equal(replaced.object.metadata?.labels?.['step'], 'replaced')
      const list = await send('GET', `${path}?labelSelector=step%3Dreplaced`)
      const [item] = list.object.items ?? []
      assert.equal(list.object.kind, `${sample.kind}List`)
      assert.deepEqual({ apiVersion: sample.apiVersion, kind: sample.kind, ...item }, replaced.object)
      const options = { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy: 'Background' }
      assert.equal((await send('DELETE', one, options)).status, 200)
    })
  }
})

test('errors are statuses in protobuf', async () => {
  const missing = await send('GET', '/api/v1/namespaces/default/pods/nope')
  assert.deepEqual([missing.status, missing.object.kind, missing.object.reason], [404, 'Status', 'NotFound'])
  assert.deepEqual(missing.object.details, { name: 'nope', kind: 'pods' })
  const wrong = await send('POST', '/api/v1/namespaces/default/pods', {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'Bad' },
    spec: { containers: [{ name: 'main' }] },
  })
  assert.deepEqual(
    [wrong.status, wrong.object.details?.causes?.map(({ field }) => field)],
    [422, ['metadata.name', 'spec.containers[0].image']],
  )
})

type Body = Uint8Array | string

test('malformed protobuf bodies are rejected', async () => {
  const check = async (
    body: Body,
    status: number,
    message: RegExp,
    type = protobufMediaType,
  ): Promise<void> => {
    const path = '/api/v1/namespaces/default/configmaps'
    const headers = { 'content-type': type, 'accept': 'application/json' }
    const answer = await client.send({ method: 'POST', path, headers, body })
    assert.equal(answer.status, status, answer.body.toString())
    assert.match((JSON.parse(answer.body.toString()) as Status).message ?? '', message)
  }
  const secret = encodeProtobuf({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x' } })
  const map = encodeProtobuf({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' } })
  await check(secret, 400, /Secret in version "v1" cannot be handled as a ConfigMap/)
  await check('{"kind":"ConfigMap"}', 400, /./)
  await check('', 400, /./)
  await check(map.subarray(0, -3), 400, /./)
  await check(Buffer.from('k8s\0'), 400, /./)
  await check(map, 400, /./, 'application/json')
  await check(map, 415, /application\/vnd\.kubernetes\.protobuf/, 'application/protobuf')
})

test('a watch sends frames of protobuf, bookmarks too', async () => {
  const path = '/api/v1/namespaces/samples/secrets'
  const secret = (name: string): object => {
    return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, data: { a: 'AAEC' } }
  }
  await send('POST', path, secret('first'))
  const query = 'watch=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan'
  const headers = { accept: `${protobufMediaType};stream=watch` }
  const { stream, type } = await client.open({ path: `${path}?${query}`, headers })
  assert.equal(type, `${protobufMediaType};stream=watch`)
  const events = watchEvents(stream)
  assert.deepEqual(await events.next(), 'ADDED Secret first')
  assert.deepEqual(await events.next(), 'BOOKMARK Secret k8s.io/initial-events-end')
  await send('POST', path, secret('second'))
  await send('PUT', `${path}/second`, { ...secret('second'), data: { a: 'BBBB' } })
  await send('DELETE', `${path}/first`)
  const seen = [await events.next(), await events.next(), await events.next()]
  assert.deepEqual(seen, ['ADDED Secret second', 'MODIFIED Secret second', 'DELETED Secret first'])
  assert.deepEqual(events.last?.data, { a: 'AAEC' })
  stream.close()
})

function watchEvents(stream: AsyncIterable<Buffer>): { next(): Promise<string>; last: Stored | undefined } {
  const frames = new WatchFrames()
  const chunks = stream[Symbol.asyncIterator]()
  const waiting: Uint8Array[] = []
  return {
    last: undefined,
    async next() {
      while (waiting.length === 0) waiting.push(...frames.push((await chunks.next()).value as Buffer))
      const { type, object } = decodeProtobufWatchEvent(waiting.shift()!)
      this.last = object
      const { kind, metadata } = this.last
      return `${type} ${kind} ${metadata?.name ?? Object.keys(metadata?.annotations ?? {}).join()}`
    },
  }
}

test('metadata alone comes in protobuf, and tables in JSON', async () => {
  const path = '/api/v1/namespaces/samples/configmaps'
  const metadata = { name: 'bare', labels: { a: 'b' } }
  await send('POST', path, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { c: 'd' } })
  const as = (kind: string): string => `${protobufMediaType};as=${kind};g=meta.k8s.io;v=v1`
  const accept = (path: string, value: string): Promise<Answer> =>
    client.send({ path, headers: { accept: value } })
  const one = decodeProtobuf((await accept(`${path}/bare`, as('PartialObjectMetadata'))).body) as Stored
  assert.deepEqual(
    [one.kind, one.metadata?.labels, one.data],
    ['PartialObjectMetadata', { a: 'b' }, undefined],
  )
  const some = await accept(`${path}?labelSelector=a%3Db`, as('PartialObjectMetadataList'))
  const list = decodeProtobuf(some.body) as Stored
  assert.deepEqual(
    [list.kind, list.items?.map(item => item.metadata.name)],
    ['PartialObjectMetadataList', ['bare']],
  )
  const { stream } = await client.open({
    path: `${path}?watch=1&labelSelector=a%3Db`,
    headers: { accept: `${as('PartialObjectMetadata')};stream=watch` },
  })
  assert.equal(await watchEvents(stream).next(), 'ADDED PartialObjectMetadata bare')
  stream.close()
  assert.equal((await accept(path, as('Table'))).status, 406)
  const table = await accept(path, `${as('Table')},application/json;as=Table;g=meta.k8s.io;v=v1`)
  assert.equal((JSON.parse(table.body.toString()) as KubernetesObject).kind, 'Table')
})

test('subresources are encoded in protobuf with their own kinds', async () => {
  const pod = samples.find(({ kind }) => kind === 'Pod')!
  const pods = pathOf(pod)
  await send('POST', pods, { ...pod, metadata: { name: 'busy' } })
  const target = { apiVersion: 'v1', kind: 'Node', name: 'n1' }
  const metadata = { name: 'busy' }
  const bound = await send('POST', `${pods}/busy/binding`, {
    apiVersion: 'v1',
    kind: 'Binding',
    metadata,
    target,
  })
  assert.deepEqual([bound.status, bound.object.kind, bound.object.status], [201, 'Status', 'Success'])
  const { object } = await send('GET', `${pods}/busy`)
  const status = {
    ...(object.status as object),
    phase: 'Running',
    podIP: '10.1.2.3',
    podIPs: [{ ip: '10.1.2.3' }],
  }
  const running = await send('PUT', `${pods}/busy/status`, { ...object, status })
  assert.equal((running.object.status as PodStatus).phase, 'Running')
  const deleteOptions = { gracePeriodSeconds: 3 }
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata, deleteOptions }
  assert.equal((await send('POST', `${pods}/busy/eviction`, eviction)).object.status, 'Success')
  assert.equal((await send('GET', `${pods}/busy`)).object.metadata?.deletionGracePeriodSeconds, 3)

  const deployment = samples.find(({ kind }) => kind === 'Deployment')!
  const deployments = pathOf(deployment)
  await send('POST', deployments, deployment)
  const scale = await send('GET', `${deployments}/sample/scale`)
  assert.deepEqual([scale.object.apiVersion, scale.object.kind], ['autoscaling/v1', 'Scale'])
  const scaled = await send('PUT', `${deployments}/sample/scale`, { ...scale.object, spec: { replicas: 3 } })
  assert.deepEqual(scaled.object.spec, { replicas: 3 })
  const review = await send('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes: { verb: 'get', resource: 'pods' } },
  })
  assert.deepEqual([review.status, (review.object.status as SubjectAccessReviewStatus).allowed], [201, true])
})

test('a patch in JSON is answered in protobuf', async () => {
  const path = '/api/v1/namespaces/samples/configmaps'
  await send('POST', path, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'patched' } })
  const headers = { 'accept': protobufMediaType, 'content-type': 'application/strategic-merge-patch+json' }
  const answer = await client.send({
    method: 'PATCH',
    path: `${path}/patched`,
    headers,
    body: '{"data":{"a":"b"}}',
  })
  assert.deepEqual((decodeProtobuf(answer.body) as Stored).data, { a: 'b' })
})
