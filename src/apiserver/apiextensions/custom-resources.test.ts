import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { CustomResourceDefinition } from '#/api/generated/apiextensions/v1.ts'
import { nodePlatform } from '#/platform/node.ts'
import { startTestServer, type AnyObject, type TestServer } from '../test-server.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const cronTabs = '/apis/stable.example.com/v1/namespaces/default/crontabs'

function definition(version: object = {}, spec: object = {}, names: object = {}): object {
  return {
    kind: 'CustomResourceDefinition',
    apiVersion: 'apiextensions.k8s.io/v1',
    metadata: { name: 'crontabs.stable.example.com' },
    spec: {
      group: 'stable.example.com',
      scope: 'Namespaced',
      names: { plural: 'crontabs', singular: 'crontab', kind: 'CronTab', shortNames: ['ct'], ...names },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: {
                spec: {
                  type: 'object',
                  required: ['cronSpec'],
                  properties: {
                    cronSpec: { type: 'string', pattern: '^(\\S+\\s+){4}\\S+$' },
                    replicas: { type: 'integer', minimum: 1, maximum: 10, default: 1 },
                    image: { type: 'string', nullable: true },
                  },
                },
                status: { type: 'object', properties: { replicas: { type: 'integer' } } },
              },
            },
          },
          subresources: { status: {} },
          additionalPrinterColumns: [
            { name: 'Spec', type: 'string', jsonPath: '.spec.cronSpec' },
            { name: 'Replicas', type: 'integer', jsonPath: '.spec.replicas' },
          ],
          ...version,
        },
      ],
      ...spec,
    },
  }
}

function cronTab(spec: object, name = 'a'): object {
  return { kind: 'CronTab', apiVersion: 'stable.example.com/v1', metadata: { name }, spec }
}

/** Polls until the condition holds; fails by the time limit of the test. */
async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await platform.clock.sleep(1)
}

function conditionsOf({ status }: AnyObject): Record<string, string> {
  const conditions = (
    status as unknown as { conditions?: { type: string; status: string; reason: string }[] }
  )?.conditions
  return Object.fromEntries((conditions ?? []).map(each => [each.type, `${each.status} ${each.reason}`]))
}

function statusOf(object: AnyObject): Readonly<Record<string, unknown>> {
  return object['status'] as unknown as Readonly<Record<string, unknown>>
}

function specOf(object: AnyObject): Readonly<Record<string, unknown>> {
  return object['spec'] as unknown as Readonly<Record<string, unknown>>
}

async function establish({ request }: TestServer, object: object): Promise<AnyObject> {
  const created = await request('POST', definitions, object)
  assert.equal(created.code, 201, created.text)
  const { name } = created.body['metadata']
  let seen = created.body
  await until(async () => {
    seen = (await request('GET', `${definitions}/${String(name)}`)).body
    return conditionsOf(seen)['Established'] !== undefined
  })
  return seen
}

async function start(t: TestContext, object: object = definition()): Promise<TestServer> {
  const server = await startTestServer(t, platform)
  await establish(server, object)
  await until(async () => (await server.request('GET', cronTabs)).code === 200)
  return server
}

test('a CustomResourceDefinition becomes established and its resource is served', async t => {
  const server = await startTestServer(t, platform)
  assert.equal((await server.request('GET', cronTabs)).code, 404)
  const established = await establish(server, definition())
  assert.deepEqual(conditionsOf(established), {
    NamesAccepted: 'True NoConflicts',
    Established: 'True InitialNamesAccepted',
  })
  assert.deepEqual(statusOf(established)['acceptedNames'], {
    plural: 'crontabs',
    singular: 'crontab',
    shortNames: ['ct'],
    kind: 'CronTab',
    listKind: 'CronTabList',
  })
  await until(async () => (await server.request('GET', cronTabs)).code === 200)
  const discovered = await server.request('GET', '/apis/stable.example.com/v1')
  const resources = discovered.body['resources'] as unknown as readonly { readonly name: string }[]
  assert.deepEqual(
    resources.map(each => each.name),
    ['crontabs', 'crontabs/status'],
  )
})

test('a list of custom objects has a continue token, which is empty at the end', async t => {
  const { request } = await start(t)
  for (const name of ['a', 'b']) await request('POST', cronTabs, cronTab({ cronSpec: '* * * * *' }, name))
  const tokenOf = async (query: string): Promise<string> =>
    String((await request('GET', `${cronTabs}${query}`)).body['metadata']['continue'])
  assert.equal(await tokenOf(''), '')
  assert.notEqual(await tokenOf('?limit=1'), '')
})

test('custom objects are defaulted, pruned and validated', async t => {
  const { request } = await start(t)
  const created = await request('POST', cronTabs, cronTab({ cronSpec: '* * * * */5', extra: 1, image: null }))
  assert.equal(created.code, 201, created.text)
  assert.deepEqual(created.body['spec'], { cronSpec: '* * * * */5', replicas: 1, image: null })
  assert.equal(Number(created.body['metadata']['generation']), 1)
  const invalid = await request('POST', cronTabs, cronTab({ cronSpec: 'x', replicas: 15 }, 'b'))
  assert.equal(invalid.code, 422)
  assert.equal(
    invalid.body.message,
    'CronTab.stable.example.com "b" is invalid: [spec.cronSpec: Invalid value: "x": spec.cronSpec in body ' +
      "should match '^(\\S+\\s+){4}\\S+$', spec.replicas: Invalid value: 15: spec.replicas in body should be " +
      'less than or equal to 10]',
  )
  const missing = await request('POST', cronTabs, cronTab({}, 'c'))
  assert.equal(
    missing.body.message,
    'CronTab.stable.example.com "c" is invalid: spec.cronSpec: Required value',
  )
  const wrong = await request('POST', cronTabs, cronTab({ cronSpec: 5 }, 'd'))
  assert.match(wrong.body.message ?? '', /spec\.cronSpec in body must be of type string: "integer"/u)
})

test('the status subresource of a custom object is separate from its spec', async t => {
  const { request } = await start(t)
  const { body } = await request('POST', cronTabs, {
    ...cronTab({ cronSpec: '* * * * *' }),
    status: { replicas: 3 },
  })
  assert.equal(body['status'], undefined)
  const changed = { ...body, spec: { cronSpec: '1 * * * *' }, status: { replicas: 2 } }
  const updated = await request('PUT', `${cronTabs}/a/status`, changed)
  assert.deepEqual([updated.body['status'], specOf(updated.body)['cronSpec']], [{ replicas: 2 }, '* * * * *'])
  assert.equal(Number(updated.body['metadata']['generation']), 1)
})

test('a table of custom objects has the additional printer columns', async t => {
  const { request } = await start(t)
  await request('POST', cronTabs, cronTab({ cronSpec: '* * * * *' }))
  const { body } = await request('GET', cronTabs, undefined, {
    accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
  })
  const columns = body['columnDefinitions'] as unknown as readonly { readonly name: string }[]
  const rows = body['rows'] as unknown as readonly { readonly cells: readonly unknown[] }[]
  assert.deepEqual(
    columns.map(each => each.name),
    ['Name', 'Spec', 'Replicas'],
  )
  assert.deepEqual(rows[0]?.cells, ['a', '* * * * *', 1])
})

test('names in use by another definition of the group are accepted when it is deleted', async t => {
  const server = await start(t)
  const other = {
    ...definition({}, {}, { plural: 'others', singular: 'ct', kind: 'CronTab', shortNames: [] }),
  }
  const seen = await establish(server, { ...other, metadata: { name: 'others.stable.example.com' } })
  assert.deepEqual(conditionsOf(seen), {
    NamesAccepted: 'False ListKindConflict',
    Established: 'False NotAccepted',
  })
  await server.request('DELETE', `${definitions}/crontabs.stable.example.com`)
  await until(async () => {
    const { body } = await server.request('GET', `${definitions}/others.stable.example.com`)
    return conditionsOf(body)['NamesAccepted'] === 'True NoConflicts'
  })
})

test('deleting a definition deletes its objects first', async t => {
  const { request } = await start(t)
  await request('POST', cronTabs, cronTab({ cronSpec: '* * * * *' }))
  const held = {
    ...cronTab({ cronSpec: '* * * * *' }, 'held'),
    metadata: { name: 'held', finalizers: ['example.com/wait'] },
  }
  await request('POST', cronTabs, held)
  const path = `${definitions}/crontabs.stable.example.com`
  const { body } = await request('DELETE', path)
  assert.deepEqual(body['metadata']['finalizers'], ['customresourcecleanup.apiextensions.k8s.io'])
  await until(async () => (await request('GET', `${cronTabs}/a`)).code === 404)
  assert.equal((await request('POST', cronTabs, cronTab({ cronSpec: '* * * * *' }, 'new'))).code, 405)
  let stuck = await request('GET', `${cronTabs}/held`)
  await until(async () => {
    stuck = await request('GET', `${cronTabs}/held`)
    return 'deletionTimestamp' in stuck.body['metadata']
  })
  await request('PUT', `${cronTabs}/held`, {
    ...stuck.body,
    metadata: { ...stuck.body['metadata'], finalizers: [] },
  })
  await until(async () => (await request('GET', path)).code === 404)
  await until(async () => (await request('GET', cronTabs)).code === 404)
})

test('CEL rules of a custom resource are evaluated, with old values in updates', async t => {
  const rules = [
    { rule: 'self.min <= self.max', message: 'min must not exceed max', fieldPath: '.min' },
    { rule: 'self.max >= oldSelf.max', messageExpression: '"max must not shrink" + ""' },
  ]
  const integer = { type: 'integer' }
  const spec = {
    'type': 'object',
    'properties': { min: integer, max: integer },
    'x-kubernetes-validations': rules,
  }
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec } } }
  const { request } = await start(t, definition({ schema }))
  const invalid = await request('POST', cronTabs, cronTab({ min: 2, max: 1 }))
  assert.equal(
    invalid.body.message,
    'CronTab.stable.example.com "a" is invalid: spec.min: Invalid value: min must not exceed max',
  )
  const { body } = await request('POST', cronTabs, cronTab({ min: 1, max: 5 }))
  const shrunk = await request('PUT', `${cronTabs}/a`, { ...body, spec: { min: 1, max: 4 } })
  assert.equal(
    shrunk.body.message,
    'CronTab.stable.example.com "a" is invalid: spec: Invalid value: max must not shrink',
  )
  assert.equal((await request('PUT', `${cronTabs}/a`, { ...body, spec: { min: 1, max: 6 } })).code, 200)
})

test('a definition with an invalid or too expensive CEL rule is rejected', async t => {
  const { request } = await startTestServer(t, platform)
  const check = async (rule: string, expected: RegExp): Promise<void> => {
    const list = { type: 'array', items: { type: 'string' } }
    const spec = { 'type': 'object', 'properties': { list }, 'x-kubernetes-validations': [{ rule }] }
    const schema = { openAPIV3Schema: { type: 'object', properties: { spec } } }
    const { code, body } = await request('POST', definitions, definition({ schema }))
    assert.equal(code, 422)
    assert.match(body.message ?? '', expected)
  }
  await check(
    'self.lost == 1',
    /x-kubernetes-validations\[0\]\.rule: Invalid value: .*undefined field 'lost'/su,
  )
  await check('size(self.list)', /cel expression must evaluate to a bool/u)
  await check(
    'self.list.all(a, self.list.all(b, a == b))',
    /estimated rule cost exceeds budget by factor of more than 100x/u,
  )
})

test('the scale subresource of a custom resource uses the paths of its definition', async t => {
  const integer = { type: 'integer' }
  const schema = {
    openAPIV3Schema: {
      type: 'object',
      properties: {
        spec: { type: 'object', properties: { size: integer } },
        status: { type: 'object', properties: { size: integer, selector: { type: 'string' } } },
      },
    },
  }
  const scale = {
    specReplicasPath: '.spec.size',
    statusReplicasPath: '.status.size',
    labelSelectorPath: '.status.selector',
  }
  const { request } = await start(t, definition({ schema, subresources: { scale } }))
  const status = { size: 2, selector: 'app=a' }
  await request('POST', cronTabs, { ...cronTab({ size: 3 }), status })
  const { body } = await request('GET', `${cronTabs}/a/scale`)
  assert.deepEqual(
    [body.kind, body['spec'], body['status']],
    ['Scale', { replicas: 3 }, { replicas: 2, selector: 'app=a' }],
  )
  const scaled = await request('PUT', `${cronTabs}/a/scale`, { ...body, spec: { replicas: 7 } })
  const unconditional = { metadata: { name: 'a', namespace: 'default' }, spec: { replicas: 7 } }
  assert.equal((await request('PUT', `${cronTabs}/a/scale`, unconditional)).code, 200)
  assert.deepEqual(scaled.body['spec'], { replicas: 7 })
  assert.deepEqual((await request('GET', `${cronTabs}/a`)).body['spec'], { size: 7 })
})

test('stored custom objects get defaults of a later schema when they are read', async t => {
  const schemaWith = (fields: object) => ({
    openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties: fields } } },
  })
  const { request } = await start(t, definition({ schema: schemaWith({ a: { type: 'string' } }) }))
  await request('POST', cronTabs, cronTab({ a: 'x' }))
  const path = `${definitions}/crontabs.stable.example.com`
  const { body } = await request('GET', path)
  const later = definition({ schema: schemaWith({ b: { type: 'string', default: 'y' } }) })
  await request('PUT', path, { ...later, metadata: body['metadata'] })
  await until(async () => 'b' in specOf((await request('GET', `${cronTabs}/a`)).body))
  assert.deepEqual((await request('GET', `${cronTabs}/a`)).body['spec'], { b: 'y' })
  const { items } = (await request('GET', cronTabs)).body as unknown as {
    readonly items: readonly AnyObject[]
  }
  assert.deepEqual(items[0]?.['spec'], { b: 'y' })
})

test('duplicate keys in an apply patch are errors with strict field validation', async t => {
  const { raw, request } = await start(t)
  const line = (minute: string): string => `  cronSpec: "${minute} * * * *"\n`
  const apply = (validation: string) =>
    raw('PATCH', `${cronTabs}/a?fieldManager=m&fieldValidation=${validation}`, {
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body: `kind: CronTab\napiVersion: stable.example.com/v1\nspec:\n${['1', '2'].map(line).join('')}`,
    })
  assert.equal((await apply('Strict')).status, 400)
  assert.equal((await apply('Ignore')).status, 201)
  assert.equal(specOf((await request('GET', `${cronTabs}/a`)).body)['cronSpec'], '2 * * * *')
})

test('rules in a malformed schema are no internal error', async t => {
  const { request } = await startTestServer(t, platform)
  const rules = { 'x-kubernetes-validations': [{ rule: 'self.a == 1' }] }
  const boolean = 'boolean or JSON schema expected'
  const place =
    'json: cannot unmarshal number into Go struct field ' +
    'JSONSchemaProps.spec.versions.schema.openAPIV3Schema.properties.properties.items.type of type string'
  const malformed: readonly (readonly [object, number, string])[] = [
    [{ a: { type: 'array' } }, 422, 'items: Required value: must be specified'],
    [{ a: { type: 'array', items: 'x' } }, 422, 'items: Required value: must be specified'],
    [{ a: { type: 'array', items: [] } }, 422, 'items: Required value: must be specified'],
    [{ a: { type: 'array', items: [{ type: 'string' }] } }, 422, 'items must be a schema object'],
    [{ a: { type: 'array', items: { type: 7 } } }, 400, place],
    [{ a: { type: 'object', additionalProperties: 5 } }, 400, boolean],
    [{ a: { type: 'object', properties: { b: { additionalProperties: [] } } } }, 400, boolean],
    [{ a: {} }, 422, 'type: Required value'],
  ]
  for (const [properties, expected, message] of malformed) {
    const spec = { type: 'object', properties, ...rules }
    const schema = { openAPIV3Schema: { type: 'object', properties: { spec } } }
    const { code, text } = await request('POST', definitions, definition({ schema }))
    assert.equal(code, expected, text)
    assert.ok(text.includes(message), text)
  }
})

test('empty keywords of a schema are refused at the root with a status subresource, and dropped elsewhere', async t => {
  const { request } = await startTestServer(t, platform)
  const properties = { a: { type: 'string', enum: [], allOf: [] } }
  const create = async (
    root: object,
    more: object = {},
  ): Promise<Awaited<ReturnType<TestServer['request']>>> => {
    const schema = { openAPIV3Schema: { type: 'object', properties, ...root } }
    return request('POST', `${definitions}?dryRun=All`, definition({ schema, ...more }))
  }
  const { body } = await create({ oneOf: [], definitions: {} }, { subresources: undefined })
  const { spec } = body as unknown as CustomResourceDefinition
  const schema = { type: 'object', properties: { a: { type: 'string' } } }
  assert.deepEqual(spec.versions[0]?.schema?.openAPIV3Schema, schema)
  for (const root of [{ oneOf: [] }, { definitions: {} }, { $ref: '' }]) {
    const { code, text } = await create(root, { subresources: { status: {} } })
    assert.equal(code, 422)
    assert.match(text, /fields are allowed at the root of the schema if the status subresource is enabled/)
  }
  assert.equal((await create({ dependencies: {} }, { subresources: undefined })).code, 422)
})

test('instances of a definition without served versions are deleted with it', async t => {
  const { server, request } = await start(t)
  await request('POST', cronTabs, cronTab({ cronSpec: '* * * * *' }))
  const path = `${definitions}/crontabs.stable.example.com`
  await request('PATCH', path, [{ op: 'replace', path: '/spec/versions/0/served', value: false }], {
    'content-type': 'application/json-patch+json',
  })
  await until(async () => (await request('GET', cronTabs)).code === 404)
  await request('DELETE', path)
  await until(async () => (await request('GET', path)).code === 404)
  await establish({ request } as TestServer, definition())
  await until(async () => (await request('GET', cronTabs)).code === 200)
  const { items } = (await request('GET', cronTabs)).body as unknown as { readonly items: readonly unknown[] }
  assert.deepEqual([items, server.isReady], [[], true])
})
