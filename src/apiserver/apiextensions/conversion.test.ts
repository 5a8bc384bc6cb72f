import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { JsonValue } from '#/api/text/json-value.ts'
import { nodePlatform } from '#/platform/node.ts'
import type { HttpConnect } from '#/platform/http-client.ts'
import { readAdmission } from '../admission.ts'
import { fakeConnect } from '../test-webhook-server.ts'
import { startTestServer, type AnyObject, type TestServer, type TestServerOptions } from '../test-server.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const inV1 = '/apis/example.com/v1/namespaces/default/servers'
const inV2 = '/apis/example.com/v2/namespaces/default/servers'

function version(name: string, properties: object, more: object): object {
  const schema = { openAPIV3Schema: { type: 'object', properties } }
  return { name, served: true, storage: name === 'v1', schema, ...more }
}

const text = { type: 'string' }

/** Version 1 has `address: host:port`, version 2 has both apart. */
function definition(storage = 'v1'): object {
  const column = (jsonPath: string): object => ({ name: 'Host', type: 'string', jsonPath })
  return {
    kind: 'CustomResourceDefinition',
    apiVersion: 'apiextensions.k8s.io/v1',
    metadata: { name: 'servers.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'servers', kind: 'Server' },
      versions: [
        version(
          'v1',
          { address: text },
          { storage: storage === 'v1', additionalPrinterColumns: [column('.address')] },
        ),
        version(
          'v2',
          { host: text, port: { ...text, default: '80' } },
          {
            storage: storage === 'v2',
            additionalPrinterColumns: [column('.host')],
            selectableFields: [{ jsonPath: '.host' }],
          },
        ),
      ],
      conversion: {
        strategy: 'Webhook',
        webhook: { clientConfig: { url: 'https://hook/convert' }, conversionReviewVersions: ['v2', 'v1'] },
      },
    },
  }
}

type Review = { readonly request: { uid: string; desiredAPIVersion: string; objects: readonly Server[] } }
type Server = { apiVersion: string; metadata: object; address?: string; host?: string; port?: string }

function convert({ address = '', host, port, ...rest }: Server, apiVersion: string): object {
  const [toHost, toPort] = address.split(':')
  return apiVersion.endsWith('/v1')
    ? { ...rest, apiVersion, address: `${host}:${port}` }
    : { ...rest, apiVersion, host: toHost, port: toPort }
}

function success({ request }: Review, convertedObjects?: readonly unknown[]): object {
  const { uid, objects, desiredAPIVersion } = request
  return {
    kind: 'ConversionReview',
    apiVersion: 'apiextensions.k8s.io/v1',
    response: {
      uid,
      result: { status: 'Success' },
      convertedObjects: convertedObjects ?? objects.map(object => convert(object, desiredAPIVersion)),
    },
  }
}

interface Webhook {
  readonly reviews: Review[]
  /** Replaces the response. */
  answer: (review: Review) => object | Promise<object>
  readonly connectHttp: HttpConnect
}

function webhook(): Webhook {
  const reviews: Review[] = []
  const hook: Webhook = {
    reviews,
    answer: success,
    connectHttp: fakeConnect(async (_path, body) => {
      const review = body as unknown as Review
      reviews.push(review)
      return (await hook.answer(review)) as JsonValue
    }),
  }
  return hook
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await platform.clock.sleep(1)
}

async function start(t: TestContext, hook: Webhook, options: TestServerOptions = {}): Promise<TestServer> {
  const server = await startTestServer(t, platform, { connectHttp: hook.connectHttp, ...options })
  assert.equal((await server.request('POST', definitions, definition())).code, 201)
  await until(async () => (await server.request('GET', inV2)).code === 200)
  return server
}

function server1(name: string, address: string): object {
  return { kind: 'Server', apiVersion: 'example.com/v1', metadata: { name }, address }
}

function server2(name: string, host: string): object {
  return { kind: 'Server', apiVersion: 'example.com/v2', metadata: { name }, host }
}

/** Everything but the metadata. */
function fieldsOf(object: AnyObject): object {
  const { metadata: _, kind: _kind, ...rest } = object
  return rest
}

function itemsOf(list: AnyObject): readonly AnyObject[] {
  return list['items'] as unknown as readonly AnyObject[]
}

test('objects are written and read in every version through the conversion webhook', async t => {
  const hook = webhook()
  const { request } = await start(t, hook)
  const created = await request('POST', inV2, server2('a', 'web'))
  assert.equal(created.code, 201, created.text)
  const v2 = { apiVersion: 'example.com/v2', host: 'web', port: '80' }
  assert.deepEqual(fieldsOf(created.body), v2)
  assert.deepEqual(
    hook.reviews.map(({ request: { desiredAPIVersion, objects } }) => [desiredAPIVersion, objects.length]),
    [
      ['example.com/v1', 1],
      ['example.com/v2', 1],
    ],
  )
  const v1 = { apiVersion: 'example.com/v1', address: 'web:80' }
  assert.deepEqual(fieldsOf((await request('GET', `${inV1}/a`)).body), v1)
  assert.deepEqual(fieldsOf((await request('GET', `${inV2}/a`)).body), v2)
  const { body } = await request('GET', `${inV2}/a`)
  const updated = await request('PUT', `${inV2}/a`, { ...body, port: '81' })
  assert.deepEqual(fieldsOf(updated.body), { ...v2, port: '81' })
  assert.deepEqual(fieldsOf((await request('GET', `${inV1}/a`)).body), { ...v1, address: 'web:81' })
  const same = await request('PUT', `${inV2}/a`, updated.body)
  assert.equal(
    same.body['metadata']['resourceVersion'],
    updated.body['metadata']['resourceVersion'],
    'no change, no write',
  )
  const deleted = await request('DELETE', `${inV2}/a`)
  assert.equal(deleted.code, 200, deleted.text)
})

test('a list is converted by one review, and selectors, tables and watches see the version of the request', async t => {
  const hook = webhook()
  const { request, watch, raw } = await start(t, hook)
  for (const name of ['a', 'b', 'c']) await request('POST', inV1, server1(name, `${name}:1`))
  hook.reviews.length = 0
  const list = await request('GET', inV2)
  assert.deepEqual(
    itemsOf(list.body).map(each => each['host']),
    ['a', 'b', 'c'],
  )
  assert.equal(hook.reviews.length, 1)
  const selected = await request('GET', `${inV2}?fieldSelector=host%3Db`)
  assert.deepEqual(
    itemsOf(selected.body).map(each => each.metadata['name']),
    ['b'],
  )
  const table = await request('GET', inV2, undefined, {
    accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
  })
  const rows = table.body['rows'] as unknown as readonly { readonly cells: readonly string[] }[]
  assert.deepEqual(
    rows.map(({ cells }) => cells[1]),
    ['a', 'b', 'c'],
  )
  const abort = new AbortController()
  const events = watch(
    `${inV2}?watch=true&fieldSelector=host%3Db&resourceVersion=${revisionOf(list.body)}`,
    2,
  )
  const other = await raw('GET', `${inV2}?watch=true&resourceVersion=0`, { signal: abort.signal })
  assert.equal(other.status, 200)
  abort.abort()
  const stored = (await request('GET', `${inV1}/a`)).body
  await request('PUT', `${inV1}/a`, { ...stored, address: 'b:2' })
  const changed = (await request('GET', `${inV1}/a`)).body
  await request('PUT', `${inV1}/a`, { ...changed, address: 'x:2' })
  assert.deepEqual(
    (await events).map(({ type, object }) => [type, object['host'], object['port']]),
    [
      ['ADDED', 'b', '2'],
      ['DELETED', 'b', '2'],
    ],
  )
})

function revisionOf(list: AnyObject): string {
  return String(list['metadata']['resourceVersion'])
}

test('field managers of different versions own converted fields', async t => {
  const hook = webhook()
  const { request } = await start(t, hook)
  const apply = (url: string, manager: string, body: object) =>
    request('PATCH', `${url}/a?fieldManager=${manager}`, JSON.stringify(body), {
      'content-type': 'application/apply-patch+yaml',
    })
  assert.equal((await apply(inV1, 'one', server1('a', 'web:1'))).code, 201)
  const conflict = await apply(inV2, 'two', { ...server2('a', 'web'), port: '2' })
  assert.equal(conflict.code, 409, conflict.text)
  assert.match(conflict.text, /conflict with \\"one\\": \.address/)
  const forced = await apply(inV2, 'two&force=true', { ...server2('a', 'web'), port: '2' })
  assert.equal(forced.code, 200, forced.text)
  assert.equal((await request('GET', `${inV1}/a`)).body['address'], 'web:2')
})

test('a changed storage version applies to the next write', async t => {
  const hook = webhook()
  const { request } = await start(t, hook)
  await request('POST', inV1, server1('a', 'web:1'))
  const { body } = await request('GET', `${definitions}/servers.example.com`)
  const spec = (definition('v2') as { readonly spec: object }).spec
  assert.equal((await request('PUT', `${definitions}/servers.example.com`, { ...body, spec })).code, 200)
  await until(async () => {
    const patched = await request('PATCH', `${inV1}/a`, { metadata: { labels: {} } }, merge)
    assert.equal(patched.code, 200, patched.text)
    return hook.reviews.some(({ request: { objects } }) => objects[0]?.apiVersion === 'example.com/v2')
  })
})

const merge = { 'content-type': 'application/merge-patch+json' }

test('a webhook that fails or lies changes nothing and is reported', async t => {
  const hook = webhook()
  const { request, watch } = await start(t, hook)
  await request('POST', inV1, server1('a', 'web:1'))
  const kind = 'example.com/v1, Kind=Server'
  const lies: readonly (readonly [string, (review: Review) => object | Promise<object>])[] = [
    [`conversion webhook for ${kind} failed: no response provided`, () => ({ ...reviewKind })],
    [
      `conversion webhook for ${kind} failed: expected webhook response of apiextensions.k8s.io/v1, ` +
        'Kind=ConversionReview, got /v1, Kind=Pod',
      () => ({ kind: 'Pod', apiVersion: 'v1' }),
    ],
    [
      `conversion webhook for ${kind} failed: not today`,
      ({ request: { uid } }) => ({
        ...reviewKind,
        response: { uid, result: { status: 'Failure', message: 'not today' } },
      }),
    ],
    [`conversion webhook for ${kind} returned 0 objects, expected 1`, review => success(review, [])],
    [
      `conversion webhook for ${kind} returned invalid converted object at index 0: invalid groupVersion ` +
        '(expected example.com/v2, received example.com/v1)',
      review => success(review, review.request.objects),
    ],
    [
      `conversion webhook for ${kind} returned invalid converted object at index 0: ` +
        'must have the same name: a != b',
      review => success(review, [{ ...server2('b', 'x') }]),
    ],
    [
      `conversion webhook for ${kind} failed: Post "https://hook/convert?timeout=30s": no route`,
      () => Promise.reject(new Error('no route')),
    ],
  ]
  for (const [message, answer] of lies) {
    hook.answer = answer
    const { body, code } = await request('GET', `${inV2}/a`)
    assert.deepEqual([code, body['message'] as unknown], [500, message])
  }
  assert.equal((await request('POST', inV2, server2('b', 'x'))).code, 500)
  const [failed] = await watch(`${inV2}?watch=true`, 1)
  assert.equal(failed?.type, 'ERROR')
  assert.equal(itemsOf((await request('GET', inV1)).body).length, 1)
  hook.answer = success
  assert.equal((await request('GET', `${inV2}/a`)).body['host'], 'web')
})

const reviewKind = { kind: 'ConversionReview', apiVersion: 'apiextensions.k8s.io/v1' }

test('a webhook may change labels and annotations, and no other metadata', async t => {
  const hook = webhook()
  const { request } = await start(t, hook)
  await request('POST', inV1, server1('a', 'web:1'))
  hook.answer = review => {
    const [object] = review.request.objects
    const metadata = { ...object!.metadata, labels: { from: 'v1' }, finalizers: ['x/y'], generation: 7 }
    return success(review, [{ ...convert(object!, 'example.com/v2'), metadata }])
  }
  const { metadata } = (await request('GET', `${inV2}/a`)).body
  assert.deepEqual(metadata['labels'], { from: 'v1' })
  assert.deepEqual([metadata['finalizers'], Number(metadata['generation'])], [undefined, 1])
})

test('while a webhook hangs, the same objects are served in their storage version', async t => {
  const hook = webhook()
  const { request } = await start(t, hook)
  await request('POST', inV1, server1('a', 'web:1'))
  const { promise, resolve } = Promise.withResolvers<void>()
  hook.answer = async review => {
    await promise
    return success(review)
  }
  const waiting = [request('GET', `${inV2}/a`), request('GET', `${inV2}/a`)]
  assert.equal((await request('GET', `${inV1}/a`)).body['address'], 'web:1')
  hook.reviews.length = 0
  resolve()
  for (const { body } of await Promise.all(waiting)) assert.equal(body['host'], 'web')
  assert.equal(hook.reviews.length, 0, 'both requests wait for one review')
})

test('a policy for one version checks writes in another version', async t => {
  const hook = webhook()
  const { request } = await start(t, hook, {
    admission: await readAdmission(platform.files),
  })
  const policies = '/apis/admissionregistration.k8s.io/v1'
  const rule = {
    apiGroups: ['example.com'],
    apiVersions: ['v1'],
    resources: ['servers'],
    operations: ['CREATE'],
  }
  const created = await request('POST', `${policies}/validatingadmissionpolicies`, {
    kind: 'ValidatingAdmissionPolicy',
    apiVersion: 'admissionregistration.k8s.io/v1',
    metadata: { name: 'address' },
    spec: {
      matchConstraints: { resourceRules: [rule] },
      validations: [{ expression: 'object.address != "bad:80"', message: 'bad address' }],
    },
  })
  assert.equal(created.code, 201, created.text)
  await request('POST', `${policies}/validatingadmissionpolicybindings`, {
    kind: 'ValidatingAdmissionPolicyBinding',
    apiVersion: 'admissionregistration.k8s.io/v1',
    metadata: { name: 'address' },
    spec: { policyName: 'address', validationActions: ['Deny'] },
  })
  await until(async () => {
    const { code, text: answer } = await request('POST', `${inV2}?dryRun=All`, server2('bad', 'bad'))
    return code === 422 && answer.includes('bad address')
  })
  const good = await request('POST', inV2, server2('good', 'good'))
  assert.equal(good.code, 201, good.text)
})
