import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Field } from '#/api/schema.ts'
import { Scheme } from '#/api/scheme.ts'
import { OpenApi } from '../openapi.ts'
import { Document } from './gnostic-messages.ts'
import { bytesOf, cronTab, customResource, options, part, struct, type Facts } from './test-documents.ts'

test('custom resources are described by their structural schema', async () => {
  const schema = struct({
    spec: struct({
      schedule: { schema: { type: 'string' }, required: true },
      port: { type: 'int-or-string' },
      replicas: { schema: { type: 'integer', format: 'int32' }, required: false, default: 1, nullable: true },
      ports: { type: 'list', items: struct({ name: { type: 'string' } }), listType: 'map', keys: ['name'] },
      labels: { type: 'map', values: { type: 'string' }, atomic: true },
      anything: { ...struct({}), preserveUnknownFields: true },
      __proto__x: { type: 'boolean' },
    }),
  })
  const from = new OpenApi(new Scheme([customResource(schema)]), options)
  const spec = await part(
    '/openapi/v3/apis/stable.example.com/v1',
    ['components', 'schemas', cronTab, 'properties', 'spec'],
    { from },
  )
  assert.deepEqual(spec, {
    type: 'object',
    required: ['schedule'],
    properties: {
      schedule: { type: 'string' },
      port: { 'x-kubernetes-int-or-string': true },
      replicas: { type: 'integer', format: 'int32', nullable: true, default: 1 },
      ports: {
        'type': 'array',
        'items': { type: 'object', properties: { name: { type: 'string' } } },
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
      },
      labels: {
        'type': 'object',
        'additionalProperties': { type: 'string' },
        'x-kubernetes-map-type': 'atomic',
      },
      anything: { 'type': 'object', 'x-kubernetes-preserve-unknown-fields': true },
      __proto__x: { type: 'boolean' },
    },
  })
  const definitions = (await part('/openapi/v2', ['definitions'], { from })) as Record<string, Facts>
  assert.deepEqual(definitions[cronTab]?.['x-kubernetes-group-version-kind'], [
    { group: 'stable.example.com', version: 'v1', kind: 'CronTab' },
  ])
  const text = JSON.stringify(definitions[cronTab])
  assert.ok(!text.includes('nullable') && !text.includes('"default"') && text.includes('"replicas":{}'))
  assert.ok(definitions[`${cronTab}List`] && definitions['io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'])
  const patch = (await part(
    '/openapi/v2',
    ['paths', '/apis/stable.example.com/v1/namespaces/{namespace}/crontabs/{name}', 'patch'],
    { from },
  )) as Record<string, unknown>
  assert.equal(patch['operationId'], 'patchStableExampleComV1NamespacedCronTab')
  assert.deepEqual(patch['consumes'], [
    'application/json-patch+json',
    'application/merge-patch+json',
    'application/apply-patch+yaml',
  ])
  assert.deepEqual(patch['produces'], ['application/json', 'application/yaml'])
})

test('custom resources keep the descriptions of their schema', async () => {
  const authored = {
    description: 'Runs things.',
    type: 'object',
    properties: {
      metadata: { type: 'object' },
      spec: {
        type: 'object',
        properties: {
          size: { type: 'string', enum: ['small', 'large'], pattern: '^[a-z]+$', maxLength: 5, oneOf: [{}] },
          wrong: { type: 7, maxLength: 'x', required: [1], minimum: '1', enum: 'no', items: 3 },
          maybe: { type: 'object', nullable: true, properties: { x: { type: 'string' } } },
        },
      },
    },
  }
  const scheme = new Scheme([customResource(struct({}))])
  const from = new OpenApi(scheme, { ...options, authoredSchema: () => authored })
  const url = '/openapi/v3/apis/stable.example.com/v1'
  const { description, properties } = (await part(url, ['components', 'schemas', cronTab], { from })) as {
    readonly description: string
    readonly properties: Record<string, Facts>
  }
  assert.equal(description, 'Runs things.')
  assert.deepEqual(properties['spec'], authored.properties.spec)
  assert.deepEqual(properties['metadata']?.['allOf'], [
    { $ref: '#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta' },
  ])
  const spec = ['definitions', cronTab, 'properties', 'spec', 'properties']
  assert.deepEqual(await part('/openapi/v2', [...spec, 'size'], { from }), {
    type: 'string',
    enum: ['small', 'large'],
    pattern: '^[a-z]+$',
    maxLength: 5,
  })
  assert.deepEqual(await part('/openapi/v2', [...spec, 'maybe'], { from }), {})
  const headers = { accept: 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf' }
  assert.ok((await bytesOf('/openapi/v2', { from, headers })).includes('small'))
})

test('deeply nested custom schemas are bounded', async () => {
  let schema = struct({ end: { type: 'string' } })
  for (let depth = 0; depth < 500; depth++) schema = struct({ next: schema })
  const from = new OpenApi(new Scheme([customResource(schema)]), options)
  const headers = { accept: 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf' }
  const { definitions } = Document.decode(await bytesOf('/openapi/v2', { from, headers }))
  assert.ok(definitions?.additionalProperties.some(({ name }) => name === cronTab))
  assert.ok((await bytesOf('/openapi/v3/apis/stable.example.com/v1', { from })).includes('"end"'))
})

test('custom resource fields can have any name', async () => {
  const names = ['__proto__', 'constructor', '$ref', 'properties', 'x-kubernetes-action', 'toString']
  const field: Field = { schema: { type: 'string' }, required: true }
  const fields = new Map(names.map(name => [name, field]))
  const from = new OpenApi(new Scheme([customResource({ ...struct({}), fields })]), options)
  const url = '/openapi/v3/apis/stable.example.com/v1'
  const found = (await part(url, ['components', 'schemas', cronTab, 'properties'], { from })) as object
  for (const name of names) assert.ok(Object.hasOwn(found, name), name)
  const headers = { accept: 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf' }
  for (const name of names) assert.ok((await bytesOf('/openapi/v2', { from, headers })).includes(name), name)
  assert.equal(({} as Record<string, unknown>)['required'], undefined)
})

test('custom resources show their selectable fields, rules and common fields', async () => {
  const rule = { rule: 'self.size > 0', message: 'too small' }
  const authored = {
    type: 'object',
    properties: { spec: { 'type': 'object', 'x-kubernetes-validations': [rule] } },
  }
  const resource = customResource(struct({}))
  const rules = { ...resource.rules, selectableFields: { 'spec.size': () => '' } }
  const scheme = new Scheme([{ ...resource, rules }])
  const from = new OpenApi(scheme, { ...options, authoredSchema: () => authored })
  const selectable = [{ fieldPath: 'spec.size' }]
  for (const [url, ...keys] of [
    ['/openapi/v2', 'definitions'],
    ['/openapi/v3/apis/stable.example.com/v1', 'components', 'schemas'],
  ]) {
    const definitions = (await part(url ?? '', keys, { from })) as Record<string, Facts>
    assert.deepEqual(definitions[cronTab]?.['x-kubernetes-selectable-fields'], selectable)
    assert.deepEqual(definitions[`${cronTab}List`]?.['x-kubernetes-selectable-fields'], selectable)
    const { properties } = definitions[cronTab] as { readonly properties: Record<string, Facts> }
    assert.deepEqual(properties['spec']?.['x-kubernetes-validations'], [rule])
  }
  const anything = new OpenApi(scheme, { ...options, authoredSchema: () => ({ type: 'object' }) })
  const members = await part('/openapi/v2', ['definitions', cronTab, 'properties'], { from: anything })
  assert.deepEqual(Object.keys(members as object), ['apiVersion', 'kind', 'metadata'])
  const open = { 'type': 'object', 'x-kubernetes-preserve-unknown-fields': true }
  const preserving = new OpenApi(scheme, { ...options, authoredSchema: () => open })
  const definition = (await part('/openapi/v2', ['definitions', cronTab], { from: preserving })) as Facts
  assert.equal(definition['properties'], undefined)
})
