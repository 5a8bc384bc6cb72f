/** Refused requests: the codes and texts are those of Kubernetes, which clients and their tests match. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestServer, type AnyObject, type TestServer } from '../test-server.ts'

const core = '/api/v1/namespaces/default'
const maps = `${core}/configmaps`

interface Sent {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

type Check = (method: string, url: string, expected: readonly [number, string], sent?: Sent) => Promise<void>

async function start(
  t: Parameters<typeof startTestServer>[0],
): Promise<TestServer & { readonly check: Check }> {
  const server = await startTestServer(t)
  await server.request('POST', maps, configMap('a'))
  const check: Check = async (method, url, expected, { body, headers } = {}) => {
    const answer = await server.request(method, url, body, headers)
    const message = answer.body?.message ?? answer.text
    assert.deepEqual([answer.code, message], expected, `${method} ${url}`)
  }
  return { ...server, check }
}

function configMap(name: string, metadata: object = {}): object {
  return { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name, ...metadata }, data: { k: '1' } }
}

const notFound = [404, 'the server could not find the requested resource'] as const
const notAllowed = [405, 'the server does not allow this method on the requested resource'] as const
const noPage = [404, '404 page not found\n'] as const

test('a path without a route gets a Status below built-in groups and plain text elsewhere', async t => {
  const { check, raw } = await start(t)
  for (const path of [
    '/api/v9/pods',
    '/api/v1/things',
    '/apis/apps/v9',
    '/apis/apps/v9/things',
    '/version/x',
  ])
    await check('GET', path, notFound)
  for (const path of ['/other', '/apis/none.example.com', '/apis/none.example.com/v1/things'])
    await check('GET', path, noPage)
  await check('GET', '/api/v1/configmaps/a', notFound)
  await check('GET', `${core}/nodes`, notFound)
  await check('GET', `${core}/pods/a%2fb`, notFound)
  await check('GET', `${core}/pods/x/nothing`, notFound)
  await check('GET', `${core}/pods/x/status/more`, notFound)
  await check('GET', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews/x', notFound)
  const response = await raw('GET', '/other')
  assert.equal(response.body?.mediaType, 'text/plain; charset=utf-8')
  assert.equal(
    (response.body?.type === 'value' && (response.body.value as AnyObject).reason) || '',
    'NotFound',
  )
})

test('a method without a route gets 405', async t => {
  const { check } = await start(t)
  for (const method of ['PUT', 'PATCH', 'HEAD', 'OPTIONS']) await check(method, maps, notAllowed)
  for (const method of ['POST', 'HEAD', 'OPTIONS']) await check(method, `${maps}/a`, notAllowed)
  await check('POST', '/api/v1/configmaps', notAllowed)
  await check('DELETE', '/api/v1/configmaps', notAllowed)
  await check('POST', '/api/v1/watch/namespaces/default/configmaps', notAllowed, { body: configMap('b') })
  await check('POST', '/version', notAllowed)
  await check('POST', '/api/v1', notAllowed)
  const watched = 'watch is not supported on resources of kind "componentstatuses"'
  await check('GET', '/api/v1/componentstatuses?watch=1', [405, watched])
})

test('media types that no route consumes or produces get 415 and 406', async t => {
  const { check, request } = await start(t)
  const types = 'application/json, application/yaml, application/vnd.kubernetes.protobuf'
  const streams = 'application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch'
  const available = '406: Not Acceptable\n\nAvailable representations: '
  const html = { headers: { accept: 'text/html' } }
  await check('GET', `${maps}/a`, [406, available + types], html)
  await check('GET', maps, [406, `${available}${types}, ${streams}`], html)
  await check('GET', maps, [406, `${available}${types}, ${streams}`], {
    headers: { accept: 'application/*' },
  })
  await check('GET', '/api/v1', [406, available + types], html)
  await check('GET', '/version', [406, `${available}application/json`], html)
  await check('GET', '/api/v9', notFound, html)
  const only = 'only the following media types are accepted: '
  const none = { headers: { accept: 'application/json;as=None;g=meta.k8s.io;v=v1' } }
  await check('GET', `${maps}/a`, [406, only + types], none)
  const yaml = await request('GET', `${maps}?watch=1`, undefined, { accept: 'application/yaml' })
  assert.equal(yaml.code, 406)
  assert.match(yaml.text, /accepted: application\/json;stream=watch,\s+application\/vnd/u)
  const unknown = `the body of the request was in an unknown format - accepted media types include: ${types}`
  const text = { body: {}, headers: { 'content-type': 'text/plain' } }
  await check('POST', maps, [415, unknown], text)
  await check('PATCH', `${maps}/a`, [415, '415: Unsupported Media Type'], text)
})

test('invalid continue tokens are refused', async t => {
  const { check } = await start(t)
  const token = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const refused = (text: string, problem: string): Promise<void> =>
    check('GET', `${maps}?continue=${text}`, [
      400,
      `invalid continue token: continue key is not valid: ${problem}`,
    ])
  await refused('a$b', 'illegal base64 data at input byte 1')
  await refused(token([]), 'json: cannot unmarshal array into Go value of type storage.continueToken')
  await refused(token({ v: 'x' }), 'server does not recognize this encoded version x')
  const v = 'meta.k8s.io/v1'
  await refused(token({ v, rv: 0, start: 'a' }), `incorrect encoded start resourceVersion (version ${v})`)
  await refused(token({ v, rv: 5 }), `encoded start key empty (version ${v})`)
  await refused(token({ v, rv: 5, start: '../x' }), '../x')
})

test('invalid query options are refused', async t => {
  const { check } = await start(t)
  const body = configMap('b')
  const create = 'CreateOptions.meta.k8s.io "" is invalid: '
  const dryRun = 'dryRun: Unsupported value: ["x"]: supported values: "All"'
  await check('POST', `${maps}?dryRun=x`, [422, create + dryRun], { body })
  const validation =
    'fieldValidation: Unsupported value: "x": supported values: "", "Ignore", "Strict", "Warn"'
  await check('POST', `${maps}?fieldValidation=x`, [422, create + validation], { body })
  const merge = { body: {}, headers: { 'content-type': 'application/merge-patch+json' } }
  const force =
    'PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch'
  await check('PATCH', `${maps}/a?force=true`, [422, force], merge)
  const deletion = 'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "x"'
  const policies = 'supported values: "Foreground", "Background", "Orphan", "nil"'
  await check('DELETE', `${maps}/a?propagationPolicy=x`, [422, `${deletion}: ${policies}`])
  const unparsed = 'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax'
  await check('GET', `${maps}/a?resourceVersion=abc`, [500, unparsed])
  await check('GET', `${maps}?watch=1&resourceVersion=abc`, [500, unparsed])
  await check('GET', `${maps}?resourceVersion=abc`, [400, `invalid resource version: ${unparsed}`])
})

test('a body of a deletion replaces the options of the query', async t => {
  const { request } = await start(t)
  const options = { kind: 'DeleteOptions', apiVersion: 'v1' }
  assert.equal((await request('DELETE', `${maps}/a?dryRun=All`, options)).code, 200)
  assert.equal((await request('GET', `${maps}/a`)).code, 404)
})

test('unknown fields of field selectors are refused with the text of the kind', async t => {
  const { check } = await start(t)
  const select = (path: string, text: string): Promise<void> =>
    check('GET', `${path}?fieldSelector=x%3Dy`, [400, text])
  await select(maps, '"x" is not a known field selector: only "metadata.name", "metadata.namespace"')
  await select(`${core}/pods`, 'field label not supported: x')
  await select('/apis/batch/v1/jobs', 'field label "x" not supported for Job')
  const slices = '/apis/resource.k8s.io/v1/resourceslices'
  await select(slices, 'field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: x')
})

test('malformed patches are refused', async t => {
  const { check, request } = await start(t)
  const patch = (kind: string, body: unknown, expected: readonly [number, string]): Promise<void> =>
    check('PATCH', `${maps}/a`, expected, {
      body,
      headers: { 'content-type': `application/${kind}-patch+json` },
    })
  const notMap = 'json: cannot unmarshal array into Go value of type map[string]interface {}'
  await patch('merge', [], [400, `error decoding patch: ${notMap}`])
  await patch('strategic-merge', [], [400, notMap])
  const notList = 'json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp'
  await patch('json', {}, [400, `error decoding patch: ${notList}`])
  const rejected = 'the server rejected our request due to an error in our request'
  await patch('json', [{ op: 'remove', path: '/none' }], [422, rejected])
  const invalid = (shown: string, problem: string): readonly [number, string] => [
    422,
    ` "" is invalid: patch: Invalid value: "${shown}": ${problem}`,
  ]
  await patch('strategic-merge', { data: 'x' }, invalid('map[data:x]', 'cannot restore map from string'))
  const number = invalid('map[data:map[k:5]]', 'cannot convert int64 to string')
  await patch('strategic-merge', { data: { k: 5 } }, number)
  const flag = invalid('map[data:map[k:true]]', 'unrecognized type: string')
  await patch('strategic-merge', { data: { k: true } }, flag)
  const headers = { 'content-type': 'application/merge-patch+json' }
  const other = await request('PATCH', `${maps}/a`, { kind: 'Pod' }, headers)
  assert.match(
    other.body.message ?? '',
    /converting \(v1\.Pod\) to \(core\.ConfigMap\): unknown conversion$/u,
  )
  await check('PATCH', `${maps}/none`, [404, 'configmaps "none" not found'], { body: 'x', headers })
})

test('an object must have the name, uid and version of the request', async t => {
  const { check, request } = await start(t)
  const put = (metadata: object, expected: readonly [number, string]): Promise<void> =>
    check('PUT', `${maps}/a`, expected, { body: configMap('a', metadata) })
  const nameless = 'the name of the object (a based on URL) was undeterminable: name must be provided'
  await put({ name: '' }, [400, nameless])
  await put({ resourceVersion: 'abc' }, [500, 'strconv.ParseUint: parsing "abc": invalid syntax'])
  const { body } = await request('GET', `${maps}/a`)
  const uid = String(body['metadata']['uid'])
  const options = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid: 'x' } }
  const recreated =
    `Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition (x) does not match the UID in ` +
    `record (${uid}). The object might have been deleted and then recreated`
  await check('DELETE', `${maps}/a`, [409, recreated], { body: options })
})

test('the namespace of a cluster-scoped object is cleared', async t => {
  const { request } = await start(t)
  const created = await request('POST', '/api/v1/namespaces', {
    kind: 'Namespace',
    apiVersion: 'v1',
    metadata: { name: 'team', namespace: 'other' },
  })
  assert.deepEqual([created.code, created.body['metadata']['namespace']], [201, undefined])
})

test('the name in a watch path selects one object', async t => {
  const { request, watch, check } = await start(t)
  await request('POST', maps, configMap('b'))
  const path = '/api/v1/watch/namespaces/default/configmaps/b'
  const [first] = await watch(path, 1)
  assert.equal(String(first?.object['metadata']['name']), 'b')
  const mismatch = "fieldSelector metadata.name doesn't match requested name"
  await check('GET', `${path}?fieldSelector=metadata.name%3Da`, [400, mismatch])
})

test('an integer written like a float is refused in JSON', async t => {
  const { request, check } = await start(t)
  const text = (limit: string): string =>
    `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"spec":{"activeDeadlineSeconds":${limit},` +
    '"containers":[{"name":"c","image":"x","resources":{"limits":{"cpu":1.0}}}]}}'
  const problem =
    'Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal number 1.0 into Go struct field ' +
    'PodSpec.spec.activeDeadlineSeconds of type int64'
  await check('POST', `${core}/pods?dryRun=All`, [400, problem], { body: text('1.0') })
  assert.equal((await request('POST', `${core}/pods?dryRun=All`, text('1'))).code, 201)
})

test('an Event of the core group may have any name that fits into a path', async t => {
  const { request } = await start(t)
  const event = (name: string): object => ({ metadata: { name }, involvedObject: { namespace: 'default' } })
  assert.equal((await request('POST', `${core}/events`, event('A_B'))).code, 201)
  assert.equal((await request('POST', `${core}/events`, event('a/b'))).code, 422)
})

test('a transformation that does not fit the response gets 406', async t => {
  const { check } = await start(t)
  const as = (kind: string): Sent => ({
    headers: { accept: `application/json;as=${kind};g=meta.k8s.io;v=v1` },
  })
  const list = 'you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)'
  await check('GET', maps, [406, list], as('PartialObjectMetadata'))
  const one =
    'you requested PartialObjectMetadataList, but the requested object is not a list (*core.ConfigMap)'
  await check('GET', `${maps}/a`, [406, one], as('PartialObjectMetadataList'))
})

test('an applied configuration of another kind is refused', async t => {
  const { check } = await start(t)
  const apply = (body: unknown, expected: readonly [number, string]): Promise<void> =>
    check('PATCH', `${maps}/a?fieldManager=test`, expected, {
      body,
      headers: { 'content-type': 'application/apply-patch+yaml' },
    })
  await apply({ apiVersion: 'v1', kind: 'Pod' }, [400, 'invalid object type: /v1, Kind=Pod'])
  await apply('null', [400, 'invalid object type: /, Kind='])
})

test('an empty list of scaling policies is refused, and not defaulted', async t => {
  const { request } = await start(t)
  const autoscaler = (policies?: readonly object[]): object => ({
    metadata: { name: 'a' },
    spec: {
      maxReplicas: 3,
      scaleTargetRef: { kind: 'Deployment', name: 'x', apiVersion: 'apps/v1' },
      behavior: { scaleUp: { ...(policies && { policies }) } },
    },
  })
  const autoscalers = '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers?dryRun=All'
  const { code, body } = await request('POST', autoscalers, autoscaler([]))
  assert.equal(code, 422)
  assert.match(body.message ?? '', /spec\.behavior\.scaleUp\.policies: Required value/)
  assert.equal((await request('POST', autoscalers, autoscaler())).code, 201)
})

test('a list of Events at a future revision is refused at once, without a time to retry', async t => {
  const { request } = await start(t)
  for (const path of [`${core}/events`, '/apis/events.k8s.io/v1/events']) {
    const { code, body } = await request('GET', `${path}?resourceVersion=9999999`)
    const { reason, details } = body as { reason?: string; details?: object }
    assert.deepEqual([code, reason], [504, 'Timeout'])
    assert.deepEqual(details, {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    })
  }
})
