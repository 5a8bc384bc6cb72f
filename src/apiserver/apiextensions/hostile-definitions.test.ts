/**
 * Definitions and objects made to exhaust the API server. Each is accepted or rejected with a clear error in bounded
 * work: with exponential or quadratic work these tests would exceed their time limit.
 */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { nodePlatform } from '#/platform/node.ts'
import { startTestServer, type AnyObject, type TestServer } from '../test-server.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const things = '/apis/hostile.example.com/v1/things'
const text = { type: 'string' }
const integer = { type: 'integer' }

function struct(properties: object, more: object = {}): object {
  return { type: 'object', properties, ...more }
}

/** Properties `p0`, `p1` and so on. */
function properties(count: number, schemaOf: (index: number) => object): object {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, schemaOf(index)]))
}

function nested(depth: number, inner: object): object {
  let schema = inner
  for (let level = 0; level < depth; level++) schema = struct({ a: schema })
  return schema
}

function definitionOf(spec: object): object {
  return {
    kind: 'CustomResourceDefinition',
    apiVersion: 'apiextensions.k8s.io/v1',
    metadata: { name: 'things.hostile.example.com' },
    spec: {
      group: 'hostile.example.com',
      scope: 'Cluster',
      names: { plural: 'things', kind: 'Thing' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: struct({ spec }) } }],
    },
  }
}

interface Answer {
  readonly code: number
  readonly message: string
}

function answerOf({ code, body }: { readonly code: number; readonly body: AnyObject }): Answer {
  return { code, message: typeof body['message'] === 'string' ? body['message'] : '' }
}

async function define({ request }: TestServer, spec: object): Promise<Answer> {
  return answerOf(await request('POST', definitions, definitionOf(spec)))
}

/** Serves things with this schema; returns a function that creates one. */
async function serve(t: TestContext, spec: object): Promise<(spec: object) => Promise<Answer>> {
  const server = await startTestServer(t)
  const { code, message } = await define(server, spec)
  assert.equal(code, 201, message.slice(0, 1_000))
  while ((await server.request('GET', things)).code !== 200) await platform.clock.sleep(1)
  let count = 0
  return async given => {
    const metadata = { name: `thing-${count++}` }
    const object = { kind: 'Thing', apiVersion: 'hostile.example.com/v1', metadata, spec: given }
    return answerOf(await server.request('POST', things, object))
  }
}

async function checkRejected(t: TestContext, spec: object, expected: RegExp): Promise<void> {
  const { code, message } = await define(await startTestServer(t), spec)
  assert.equal(code, 422)
  assert.match(message, expected)
}

test('a pattern with nested repetition takes linear time', async t => {
  const create = await serve(t, struct({ a: { ...text, pattern: '^(a+)+$' } }))
  const { code, message } = await create({ a: `${'a'.repeat(200_000)}b` })
  assert.equal(code, 422)
  assert.match(message, /spec\.a in body should match '\^\(a\+\)\+\$'$/)
})

test('a pattern that expands to a large program is rejected', async t => {
  const pattern = '((((a{1,100}){1,100}){1,100}){1,100}){1,100}'
  await checkRejected(
    t,
    struct({ a: { ...text, pattern } }),
    /\.pattern: Invalid value: .*but isn't: error parsing regexp: invalid repeat count/,
  )
})

test('patterns of many characters are rejected before they are parsed', async t => {
  const classes = Array.from(
    { length: 12_000 },
    (_, index) => `(?i)[^\\pL\\x{${(0x4e00 + index).toString(16)}}]`,
  )
  const expected =
    /openAPIV3Schema: Forbidden: must not have patterns of more than 100000 characters in total$/
  await checkRejected(t, struct({ a: { ...text, pattern: classes.join('') } }), expected)
  const patterns = properties(1_200, index => ({
    ...text,
    pattern: classes.slice(index, index + 10).join(''),
  }))
  await checkRejected(t, struct(patterns), expected)
})

test('nested CEL loops are rejected by their estimated cost', async t => {
  const loop = (depth: number): string => (depth === 0 ? 'true' : `self.all(x${depth}, ${loop(depth - 1)})`)
  const list = { type: 'array', items: text }
  await checkRejected(
    t,
    struct({ a: { ...list, 'x-kubernetes-validations': [{ rule: loop(12) }] } }),
    /rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x/,
  )
})

test('CEL rules that pass the estimate stop at the run-time budget', async t => {
  const rules = [{ rule: 'self.all(x, self.all(y, x + y >= 0))' }]
  const list = { 'type': 'array', 'maxItems': 700, 'items': integer, 'x-kubernetes-validations': rules }
  const create = await serve(t, struct({ a: list }))
  const { code, message } = await create({ a: Array.from({ length: 700 }, (_, index) => index) })
  assert.equal(code, 422)
  assert.match(message, /no further validation rules will be run due to call cost exceeds limit for rule/)
})

test('references in a schema are rejected and never resolved', async t => {
  const server = await startTestServer(t)
  const tricks = [
    { a: { $ref: '#' } },
    { a: { $ref: '#/properties/spec' } },
    { a: { $ref: 'file:///etc/passwd' } },
    { a: { $ref: 'http://127.0.0.1:1/schema.json' } },
    { a: { type: 'object', properties: { b: { $ref: '#/definitions/io.k8s.api.core.v1.Pod' } } } },
    { a: { type: 'array', items: { $ref: '#' } } },
    { a: { allOf: [{ $ref: '#' }] } },
  ]
  for (const trick of tricks) {
    const { code, message } = await define(server, struct(trick))
    assert.equal(code, 422, JSON.stringify(trick))
    assert.match(message, /\.\$ref: Forbidden: \$ref is not supported/)
  }
  const definition = { definitions: { x: { $ref: '#/definitions/x' } } }
  const { message } = await define(server, struct({}, definition))
  assert.match(message, /definitions: Forbidden: definitions is not supported/)
})

test('property names of JavaScript objects are ordinary properties', async t => {
  const names = JSON.parse('{"__proto__":{"type":"string"},"constructor":{"type":"integer"}}') as object
  const create = await serve(t, struct(names))
  const { message } = await create({ constructor: 'x' })
  assert.match(message, /spec\.constructor in body must be of type integer/)
  assert.equal(({} as { readonly type?: unknown }).type, undefined)
})

test('schemas are limited in depth and served at every depth below', async t => {
  const server = await startTestServer(t)
  const tooDeep = await define(server, nested(500, text))
  assert.equal(tooDeep.code, 400)
  assert.match(tooDeep.message, /exceeded max depth/)
  const depth = 200
  const create = await serve(t, nested(depth, { ...text, maxLength: 1 }))
  let value: object | string = 'xx'
  for (let level = 0; level < depth; level++) value = { a: value }
  const { code, message } = await create(value as object)
  assert.equal(code, 422)
  assert.match(message, /: Too long: may not be more than 1 byte$/)
})

test('defaults and rules at every level of a deep and wide schema take linear work', async t => {
  let schema = struct(properties(3_000, () => text))
  let value: object = {}
  for (let level = 0; level < 100; level++) {
    value = { a: value }
    const rules = { 'x-kubernetes-validations': [{ rule: 'has(self.a)' }] }
    schema = struct({ a: schema }, { default: value, ...rules })
  }
  const create = await serve(t, struct({ top: schema }))
  assert.equal((await create({})).code, 201)
})

test('a schema with 5,000 properties is served, validated and published', async t => {
  const create = await serve(t, struct(properties(5_000, () => ({ ...text, maxLength: 3, default: 'x' }))))
  assert.equal((await create({})).code, 201)
  const { code, message } = await create({ p17: 'xxxx', unknown: 1 })
  assert.equal(code, 422)
  assert.match(message, /: spec\.p17: Too long: may not be more than 3 bytes$/)
})

test('errors that list thousands of allowed values do not add up', async t => {
  const values = Array.from({ length: 5_000 }, (_, index) => `value-${index}`)
  const create = await serve(t, struct({ a: { type: 'array', items: { ...text, enum: values } } }))
  const { code, message } = await create({ a: Array.from({ length: 20_000 }, () => 'other') })
  assert.equal(code, 422)
  assert(message.length < 2_000_000, `${message.length} characters`)
})

test('a request of more than 3 MiB is refused', async t => {
  const schema = struct(properties(30_000, () => ({ ...text, description: 'x'.repeat(120) })))
  const { code, message } = await define(await startTestServer(t), schema)
  assert.equal(code, 413)
  assert.match(message, /Request entity too large: limit is 3145728/)
})

test('other requests are served while the rules of a large schema are compiled', async t => {
  const server = await startTestServer(t)
  const ruled = { ...text, 'maxLength': 5, 'x-kubernetes-validations': [{ rule: 'self != "x"' }] }
  const creating = define(server, struct(properties(5_000, () => ruled)))
  let isCreated = false
  void creating.then(() => (isCreated = true))
  let served = 0
  while (!isCreated) {
    const { code } = await server.request('GET', '/api/v1/namespaces')
    assert.equal(code, 200)
    served++
    await platform.clock.turn()
  }
  assert.equal((await creating).code, 201)
  assert(served > 20, `${served} requests were served`)
})
