/** Answers to unusual custom resources: the causes and texts are those of Kubernetes. */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { waitUntil } from '../../../tests/wait-until.ts'
import { startTestServer, type TestServer } from '../test-server.ts'

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const group = 'stable.example.com'
const pathOf = (version: string): string => `/apis/${group}/${version}/namespaces/default/widgets`
const widgets = pathOf('v1')

const spec = {
  'type': 'object',
  'properties': {
    size: { type: 'string', enum: ['small', 'large'], default: 'small' },
    count: { type: 'integer', maximum: 10 },
    note: { type: 'string', nullable: true },
    parts: {
      'type': 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      'items': { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
    },
  },
  'x-kubernetes-validations': [{ rule: '!has(self.count) || self.count != 7', message: 'not seven' }],
}
const status = { type: 'object', properties: { replicas: { type: 'integer' } } }

/** `v1beta1` has no schema and no subresources. */
const definition = {
  metadata: { name: `widgets.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural: 'widgets', kind: 'Widget' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', properties: { spec, status } } },
        subresources: {
          status: {},
          scale: { specReplicasPath: '.spec.count', statusReplicasPath: '.status.replicas' },
        },
      },
      {
        name: 'v1beta1',
        served: true,
        storage: false,
        schema: { openAPIV3Schema: { 'type': 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
}

async function start(t: TestContext): Promise<TestServer> {
  const server = await startTestServer(t)
  await server.request('POST', definitions, definition)
  await waitUntil(async () => (await server.request('GET', widgets)).code === 200)
  return server
}

function widget(content: object, more: object = {}): object {
  return { apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name: 'a' }, ...content, ...more }
}

interface Cause {
  readonly field?: string
  readonly message: string
}

function causesOf(answer: Awaited<ReturnType<TestServer['request']>>): readonly string[] {
  assert.equal(answer.code, 422, answer.text)
  const { details } = answer.body as unknown as { readonly details: { readonly causes: readonly Cause[] } }
  return details.causes.map(({ field = '', message }) => `${field}: ${message}`)
}

const merge = { 'content-type': 'application/merge-patch+json' }
const unchecked =
  '<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; ' +
  'correct the existing errors to complete validation'

test('the fields of the scale are validated beside the schema', async t => {
  const { request } = await start(t)
  const create = async (count: unknown): Promise<readonly string[]> =>
    causesOf(await request('POST', widgets, widget({ spec: { count } })))
  const accessor = '.spec.count: Invalid value: 0: .spec.count accessor error:'
  assert.equal((await create('x')).at(-2), `${accessor} x is of the type string, expected int64`)
  assert.equal((await create(1.5)).at(-2), `${accessor} 1.5 is of the type float64, expected int64`)
  assert.deepEqual(await create(-1), ['.spec.count: Invalid value: -1: should be a non-negative integer'])
  assert.deepEqual(await create(2 ** 31), [
    'spec.count: Invalid value: 2147483648: spec.count in body should be less than or equal to 10',
    '.spec.count: Invalid value: 2147483648: should be less than or equal to 2147483647',
  ])
  const text = causesOf(await request('POST', widgets, widget({ spec: 'x' })))
  assert.ok(
    text.includes(`${accessor} x is of the type string, expected map[string]interface{}`),
    text.join(),
  )
})

test('integers past int64 are numbers', async t => {
  const { request } = await start(t)
  const body = JSON.stringify(widget({ spec: { count: 0 } })).replace('"count":0', '"count":1e20')
  assert.deepEqual(causesOf(await request('POST', widgets, body)).slice(0, 2), [
    'spec.count: Invalid value: "number": spec.count in body must be of type integer: "number"',
    '<nil>: Invalid value: "": Checked value must be of type integer (default format) in spec.count',
  ])
})

test('the status is validated with paths relative to it', async t => {
  const { request } = await start(t)
  await request('POST', widgets, widget({}))
  const patch = async (value: unknown): Promise<readonly string[]> =>
    causesOf(await request('PATCH', `${widgets}/a/status`, { status: value }, merge))
  assert.deepEqual(await patch({ replicas: -1 }), [
    '.status.replicas: Invalid value: -1: should be a non-negative integer',
  ])
  assert.deepEqual((await patch({ replicas: 1.5 })).slice(0, 2), [
    'status.replicas: Invalid value: "number": replicas in body must be of type integer: "number"',
    'status: Invalid value: "": Checked value must be of type integer (default format) in replicas',
  ])
})

test('rules are not evaluated after errors in metadata and enumerations', async t => {
  const { request } = await start(t)
  const seven = { spec: { count: 7 } }
  const nameless = causesOf(await request('POST', widgets, widget(seven, { metadata: {} })))
  assert.deepEqual(nameless.slice(1), [unchecked])
  const other = causesOf(await request('POST', widgets, widget({ spec: { size: 'x', count: 7 } })))
  assert.deepEqual(other.slice(1), [unchecked])
  assert.deepEqual(causesOf(await request('POST', widgets, widget(seven))), [
    'spec: Invalid value: not seven',
  ])
})

test('items of a map list must be objects', async t => {
  const { request } = await start(t)
  const causes = causesOf(await request('POST', widgets, widget({ spec: { parts: ['x'] } })))
  const expected = 'spec.parts[0]: Invalid value: "x": must be an object for an array of list-type map'
  assert.ok(causes.includes(expected), causes.join('\n'))
})

test('another kind is a validation error', async t => {
  const { request } = await start(t)
  await request('POST', widgets, widget({}))
  const expected = ['kind: Invalid value: "Other": must be Widget']
  const created = await request('POST', widgets, widget({}, { kind: 'Other', metadata: { name: 'b' } }))
  assert.deepEqual(causesOf(created), expected)
  assert.match(created.body.message ?? '', /^Other\.stable\.example\.com "b" is invalid: /)
  const duplicated = '{"kind":"x","kind":"Other"}'
  const patched = await request('PATCH', `${widgets}/a`, duplicated, merge)
  assert.deepEqual(causesOf(patched), expected)
  assert.deepEqual(patched.headers?.['warning'], ['299 - "duplicate field \\"kind\\""'])
})

test('an object is defaulted and pruned in the version that is stored', async t => {
  const { request } = await start(t)
  const body = {
    apiVersion: `${group}/v1beta1`,
    kind: 'Widget',
    unknown: 1,
    spec: { unknown: 1, note: null },
  }
  for (const [name, query] of [
    ['a', ''],
    ['b', '?dryRun=All'],
  ]) {
    const {
      code,
      text,
      body: created,
    } = await request('POST', `${pathOf('v1beta1')}${query}`, {
      ...body,
      metadata: { name },
    })
    assert.equal(code, 201, text)
    assert.deepEqual({ ...created, metadata: {} }, {
      apiVersion: `${group}/v1beta1`,
      kind: 'Widget',
      metadata: {},
      spec: { note: null, size: 'small' },
    } as object)
  }
  const { body: read } = await request('GET', `${pathOf('v1beta1')}/a`)
  assert.deepEqual((read as unknown as { spec: object }).spec, { note: null, size: 'small' })
})

test('the status counts for the generation where it is no subresource', async t => {
  const { request } = await start(t)
  await request('POST', widgets, widget({}))
  const patch = { status: { replicas: 1 } }
  const main = await request('PATCH', `${widgets}/a`, patch, merge)
  assert.equal(main.body.metadata.generation, 1)
  const without = await request('PATCH', `${pathOf('v1beta1')}/a`, patch, merge)
  assert.equal(without.body.metadata.generation, 2)
})

test('no manager owns zero replicas that were set by the scale', async t => {
  const { request } = await start(t)
  await request('POST', widgets, widget({}))
  const scale = await request('PATCH', `${widgets}/a/scale`, { spec: { replicas: 0 } }, merge)
  assert.equal(scale.code, 200, scale.text)
  const { body } = await request('GET', `${widgets}/a`)
  assert.equal((body as unknown as { spec: { count: number } }).spec.count, 0)
  assert.deepEqual(body.metadata.managedFields ?? [], [])
})
