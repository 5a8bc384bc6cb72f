import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestServer, type AnyObject, type TestServer } from '../test-server.ts'

const maps = '/api/v1/namespaces/default/configmaps'

test('objects can be created, read, replaced and deleted', async t => {
  const { request } = await startTestServer(t)
  const created = await request('POST', maps, configMap('a', { k: '1' }))
  assert.equal(created.code, 201)
  const { uid, creationTimestamp, resourceVersion, namespace } = created.body['metadata']
  assert.ok(uid && creationTimestamp && resourceVersion)
  assert.equal(String(namespace), 'default')
  assert.deepEqual((await request('GET', `${maps}/a`)).body, created.body)
  const replaced = await request('PUT', `${maps}/a`, { ...created.body, data: { k: '2' } })
  assert.deepEqual([replaced.code, replaced.body['data']], [200, { k: '2' }])
  assert.equal((await request('DELETE', `${maps}/a`)).body.status, 'Success')
  assert.equal((await request('GET', `${maps}/a`)).code, 404)
})

test('a no-op write keeps the resourceVersion', async t => {
  const { request } = await startTestServer(t)
  const created = await request('POST', maps, configMap('a', { k: '1' }))
  const same = await request('PUT', `${maps}/a`, created.body)
  assert.deepEqual(same.body, created.body)
})

test('an update with a stale resourceVersion conflicts, one without it succeeds', async t => {
  const { request } = await startTestServer(t)
  const first = await request('POST', maps, configMap('a', { k: '1' }))
  await request('PUT', `${maps}/a`, { ...first.body, data: { k: '2' } })
  const stale = await request('PUT', `${maps}/a`, { ...first.body, data: { k: '3' } })
  assert.deepEqual([stale.code, stale.body.reason], [409, 'Conflict'])
  assert.match(
    stale.body.message ?? '',
    /^Operation cannot be fulfilled on configmaps "a": the object has been modified/u,
  )
  assert.equal((await request('PUT', `${maps}/a`, configMap('a', { k: '4' }))).code, 200)
})

test('generateName is supported, and a duplicate name is rejected', async t => {
  const { request } = await startTestServer(t)
  const generated = await request('POST', maps, {
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: { generateName: 'web-' },
  })
  assert.match(String(generated.body['metadata']['name']), /^web-[bcdfghjklmnpqrstvwxz2456789]{5}$/u)
  await request('POST', maps, configMap('a', {}))
  const again = await request('POST', maps, configMap('a', {}))
  assert.deepEqual(
    [again.code, again.body.reason, again.body.message],
    [409, 'AlreadyExists', 'configmaps "a" already exists'],
  )
})

test('a dry run responds like a write and stores nothing', async t => {
  const { request } = await startTestServer(t)
  assert.equal((await request('POST', `${maps}?dryRun=All`, configMap('a', {}))).code, 201)
  assert.equal((await request('GET', `${maps}/a`)).code, 404)
  await request('POST', maps, configMap('a', { k: '1' }))
  const patched = await patch({ request }, `${maps}/a?dryRun=All`, 'merge', { data: { k: '2' } })
  assert.deepEqual(patched.body['data'], { k: '2' })
  assert.equal((await request('DELETE', `${maps}/a?dryRun=All`)).code, 200)
  assert.deepEqual((await request('GET', `${maps}/a`)).body['data'], { k: '1' })
})

test('all four patch types are applied', async t => {
  const { request } = await startTestServer(t)
  await request('POST', maps, configMap('a', { k: '1' }))
  const check = async (kind: PatchKind, body: unknown, data: unknown, query = ''): Promise<void> => {
    const answer = await patch({ request }, `${maps}/a${query}`, kind, body)
    assert.deepEqual([answer.code, answer.body['data']], [200, data], answer.text)
  }
  await check('merge', { data: { l: '2' } }, { k: '1', l: '2' })
  await check('json', [{ op: 'remove', path: '/data/k' }], { l: '2' })
  await check('strategic', { data: { m: '3', l: null } }, { m: '3' })
  await check(
    'apply',
    'apiVersion: v1\nkind: ConfigMap\ndata: {o: "4"}',
    { m: '3', o: '4' },
    '?fieldManager=test',
  )
})

test('server-side apply creates, reports conflicts, forces ownership, and removes dropped fields', async t => {
  const { request } = await startTestServer(t)
  const apply = (manager: string, data: string, force = ''): ReturnType<typeof request> =>
    patch(
      { request },
      `${maps}/a?fieldManager=${manager}${force}`,
      'apply',
      `apiVersion: v1\nkind: ConfigMap\ndata: ${data}`,
    )
  assert.equal((await apply('one', '{k: "1", l: "1"}')).code, 201)
  const refused = await apply('two', '{k: "2"}')
  assert.equal(refused.code, 409)
  assert.deepEqual(refused.body.details?.causes, [
    { reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.data.k' },
  ])
  assert.deepEqual((await apply('two', '{k: "2"}', '&force=true')).body['data'], { k: '2', l: '1' })
  assert.deepEqual((await apply('one', '{}')).body['data'], { k: '2' })
})

test('a failed patch changes nothing and reports the reason', async t => {
  const { request } = await startTestServer(t)
  const created = await request('POST', maps, configMap('a', { k: '1' }))
  const check = async (kind: PatchKind, body: unknown, code: number): Promise<void> => {
    assert.equal((await patch({ request }, `${maps}/a`, kind, body)).code, code)
  }
  await check(
    'json',
    [
      { op: 'test', path: '/data/k', value: '2' },
      { op: 'remove', path: '/data/k' },
    ],
    422,
  )
  await check('json', 'no patch', 400)
  await check('merge', { data: 5 }, 422)
  await check('merge', { metadata: { name: 'b' } }, 400)
  await check('apply', 'apiVersion: v1\nkind: ConfigMap', 422)
  assert.deepEqual((await request('GET', `${maps}/a`)).body, created.body)
})

test('an object with finalizers is deleted after the last one is removed', async t => {
  const { request } = await startTestServer(t)
  await request('POST', maps, {
    ...configMap('a', {}),
    metadata: { name: 'a', finalizers: ['example.com/hold'] },
  })
  const marked = await request('DELETE', `${maps}/a`)
  assert.ok(marked.body['metadata']['deletionTimestamp'])
  assert.equal((await request('DELETE', `${maps}/a`)).code, 200)
  const freed = await patch({ request }, `${maps}/a`, 'json', [
    { op: 'remove', path: '/metadata/finalizers' },
  ])
  assert.equal(freed.code, 200)
  assert.equal((await request('GET', `${maps}/a`)).code, 404)
})

test('deletion honors preconditions and propagationPolicy', async t => {
  const { request } = await startTestServer(t)
  const { body } = await request('POST', maps, configMap('a', {}))
  const wrong = await request('DELETE', `${maps}/a`, {
    kind: 'DeleteOptions',
    apiVersion: 'v1',
    preconditions: { uid: 'other' },
  })
  assert.deepEqual([wrong.code, wrong.body.reason], [409, 'Conflict'])
  const foreground = await request('DELETE', `${maps}/a?propagationPolicy=Foreground`)
  assert.deepEqual(foreground.body['metadata']['finalizers'], ['foregroundDeletion'])
  assert.ok(body['metadata']['uid'])
})

test('legacy resources default to orphaning dependents', async t => {
  const { request } = await startTestServer(t)
  const labels = { app: 'a' }
  const spec = { template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } } }
  const jobSpec = { template: { ...spec.template, spec: { ...spec.template.spec, restartPolicy: 'Never' } } }
  const jobs = '/apis/batch/v1/namespaces/default/jobs'
  const controllers = '/api/v1/namespaces/default/replicationcontrollers'
  const warning =
    '299 - "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to' +
    ' remove them or set propagationPolicy=Orphan to suppress this warning"'
  const cases = [
    [controllers, '', [], ['orphan'], undefined],
    [controllers, '?propagationPolicy=Background', [], undefined, undefined],
    [controllers, '', ['foregroundDeletion'], ['foregroundDeletion'], undefined],
    [jobs, '', [], ['orphan'], [warning]],
    [jobs, '?propagationPolicy=Orphan', [], ['orphan'], undefined],
    [jobs, '?orphanDependents=false', [], undefined, undefined],
  ] as const
  for (const [index, [path, query, finalizers, expected, warnings]] of cases.entries()) {
    const metadata = { name: `a${index}`, finalizers }
    await request('POST', path, { metadata, spec: path === jobs ? jobSpec : spec })
    const { code, body, headers } = await request('DELETE', `${path}/a${index}${query}`)
    assert.deepEqual(
      [code, body['metadata']['finalizers'], headers?.['warning']],
      [200, expected, warnings],
      `${path} ${query}`,
    )
  }
})

test('empty values are dropped but owned by the applier', async t => {
  const server = await startTestServer(t)
  const empty = { labels: {}, annotations: {}, finalizers: [], ownerReferences: [] }
  const fields = ({ body }: { readonly body: AnyObject }): readonly string[] =>
    Object.keys(body['metadata']).filter(name => name in empty)
  const created = await server.request('POST', maps, { metadata: { name: 'a', ...empty } })
  assert.deepEqual([created.code, fields(created)], [201, []])
  const labels = { a: 'b' }
  assert.deepEqual(fields(await patch(server, `${maps}/a`, 'merge', { metadata: { labels } })), ['labels'])
  const bare = await patch(server, `${maps}/a`, 'merge', { metadata: { ...empty, labels: { a: null } } })
  assert.deepEqual([bare.code, fields(bare)], [200, []])
  const configuration = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'a' },
    immutable: false,
    data: {},
  }
  const applied = await patch(server, `${maps}/a?fieldManager=me`, 'apply', configuration)
  assert.deepEqual([applied.code, 'data' in applied.body], [200, false], applied.text)
  const { managedFields } = applied.body.metadata as unknown as { readonly managedFields: readonly object[] }
  assert.match(JSON.stringify(managedFields), /"me",.*"f:data":\{\},"f:immutable":\{\}/u)
  const again = await patch(server, `${maps}/a?fieldManager=me`, 'apply', configuration)
  assert.equal(again.body.metadata['resourceVersion'], applied.body.metadata['resourceVersion'])
})

test('deletecollection deletes the selected objects', async t => {
  const { request } = await startTestServer(t)
  for (const name of ['a', 'b', 'c'])
    await request('POST', maps, labelled(name, { keep: name === 'b' ? 'yes' : 'no' }))
  assert.equal((await request('DELETE', `${maps}?labelSelector=keep=no`)).body['items']!['length'], 2)
  assert.deepEqual(names(await request('GET', maps)), ['b'])
})

test('fieldValidation ignores, warns about or rejects unknown fields', async t => {
  const { request } = await startTestServer(t)
  const object = { ...configMap('a', {}), bogus: 1 }
  const strict = await request('POST', `${maps}?fieldValidation=Strict`, object)
  assert.deepEqual([strict.code, strict.body.reason], [400, 'BadRequest'])
  assert.match(strict.body.message ?? '', /strict decoding error: unknown field "bogus"/u)
  const warned = await request('POST', maps, object)
  assert.deepEqual([warned.code, warned.headers?.['warning']], [201, ['299 - "unknown field \\"bogus\\""']])
  const ignored = await request('POST', `${maps}?fieldValidation=Ignore`, {
    ...object,
    metadata: { name: 'b' },
  })
  assert.deepEqual([ignored.code, ignored.headers], [201, undefined])
})

test('deprecated API versions cause a warning for every verb', async t => {
  const { request } = await startTestServer(t)
  const endpoints = '/api/v1/namespaces/default/endpoints'
  const warning = ['299 - "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"']
  const answers = [
    await request('POST', endpoints, { metadata: { name: 'a' } }),
    await request('GET', `${endpoints}/a`),
    await request('GET', endpoints),
    await request('DELETE', `${endpoints}/a`),
  ]
  for (const { code, headers } of answers)
    assert.deepEqual([code < 300, headers?.['warning']], [true, warning])
  const statuses = await request('GET', '/api/v1/componentstatuses')
  assert.deepEqual(statuses.headers?.['warning'], ['299 - "v1 ComponentStatus is deprecated in v1.19+"'])
  assert.equal((await request('GET', maps)).headers?.['warning'], undefined)
})

test('an update that needs a resourceVersion names the resource, and a dry run as Table has none', async t => {
  const { request } = await startTestServer(t)
  const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases'
  const lease = { metadata: { name: 'a' } }
  await request('POST', leases, lease)
  const { code, body } = await request('PUT', `${leases}/a`, { ...lease, spec: { holderIdentity: 'x' } })
  assert.deepEqual([code, body.details?.kind], [422, 'leases'])
  const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }
  const table = await request('POST', `${maps}?dryRun=All`, configMap('a', {}), headers)
  assert.deepEqual([table.code, table.body['metadata']], [201, {}])
})

test('the spec causes warnings when it is written, not when the status is', async t => {
  const { request } = await startTestServer(t)
  const services = '/api/v1/namespaces/default/services'
  const spec = { ports: [{ port: 80 }], externalIPs: ['192.0.2.1'] }
  const created = await request('POST', services, { metadata: { name: 'a' }, spec })
  assert.match(String(created.headers?.['warning']), /spec\.externalIPs/u)
  const patch = { 'content-type': 'application/merge-patch+json' }
  const status = { status: { conditions: [] }, metadata: { labels: { a: 'b' } } }
  const patched = await request('PATCH', `${services}/a/status`, status, patch)
  assert.deepEqual([patched.code, patched.headers?.['warning']], [200, undefined])
})

test('an invalid object gets 422 with all errors and is not stored', async t => {
  const { request } = await startTestServer(t)
  const refused = await request('POST', maps, {
    ...configMap('A_', {}),
    metadata: { name: 'A_', labels: { 'bad key!': 'x' } },
  })
  assert.deepEqual([refused.code, refused.body.reason], [422, 'Invalid'])
  assert.deepEqual(
    refused.body.details?.causes?.map(cause => cause.field),
    ['metadata.name', 'metadata.labels'],
  )
  assert.deepEqual(names(await request('GET', maps)), [])
})

test("unknown, forbidden and malformed requests get Kubernetes' errors", async t => {
  const { request } = await startTestServer(t)
  const check = async (
    method: string,
    url: string,
    code: number,
    reason: string,
    headers = {},
  ): Promise<void> => {
    const answer = await request(method, url, method === 'POST' ? configMap('a', {}) : undefined, headers)
    assert.deepEqual([answer.code, answer.body?.reason], [code, reason], `${method} ${url}: ${answer.text}`)
  }
  await check('GET', '/api/v1/nonsense', 404, 'NotFound')
  await check('GET', `${maps}/a/nonsense`, 404, 'NotFound')
  await check('POST', '/api/v1/configmaps', 405, 'MethodNotAllowed')
  await check('GET', `${maps}/..%2f..`, 404, 'NotFound')
  await check('GET', maps, 406, 'NotAcceptable', { accept: 'text/html' })
  await check('POST', maps, 415, 'UnsupportedMediaType', { 'content-type': 'text/plain' })
  await check('GET', `${maps}?labelSelector=a%3D%3D%3D%21`, 400, 'BadRequest')
  await check('GET', `${maps}?fieldSelector=spec.nonsense%3Dx`, 400, 'BadRequest')
  await check('GET', `${maps}?resourceVersionMatch=Exact`, 422, 'Invalid')
  await check('GET', `${maps}?limit=2&continue=nonsense`, 400, 'BadRequest')
})

test('virtual resources are not available as Table', async t => {
  const { request } = await startTestServer(t)
  const table = 'application/json;as=Table;g=meta.k8s.io;v=v1'
  const reviews = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
  const review = { spec: { nonResourceAttributes: { path: '/', verb: 'get' } } }
  const ask = async (accept: string) => {
    const { code, body } = await request('POST', reviews, review, { accept })
    return [code, body['kind']]
  }
  assert.deepEqual(await ask(table), [406, 'Status'])
  assert.deepEqual(await ask(`${table},application/json`), [201, 'SelfSubjectAccessReview'])
  const map = await request('POST', maps, configMap('a', {}), { accept: table })
  assert.deepEqual([map.code, map.body['kind']], [201, 'Table'])
})

type PatchKind = 'json' | 'merge' | 'strategic' | 'apply'

const mediaTypes: Readonly<Record<PatchKind, string>> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
}

function patch({ request }: Pick<TestServer, 'request'>, url: string, kind: PatchKind, body: unknown) {
  return request('PATCH', url, body, { 'content-type': mediaTypes[kind] })
}

function configMap(name: string, data: Readonly<Record<string, string>>) {
  return { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name }, data }
}

function labelled(name: string, labels: Readonly<Record<string, string>>) {
  return { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name, labels } }
}

function names({ body }: Awaited<ReturnType<TestServer['request']>>): readonly string[] {
  const items = body['items'] as unknown as readonly { readonly metadata: { readonly name: string } }[]
  return items.map(item => item.metadata.name)
}
