import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resourceOf } from '#/api/builtin.ts'
import type { Field, Schema, StructSchema } from '#/api/schema.ts'
import { checkExpressions } from './test-expressions.ts'
import { Environment } from './environment.ts'
import { fromJson } from './json.ts'
import { schemaType } from './schema-type.ts'
import { objectOf, showType } from './type.ts'

test('fields of a built-in kind', () => {
  const { schema } = resourceOf({ group: '', version: 'v1', resource: 'pods' })
  const type = schemaType(schema, 'Pod')!
  const pod = {
    metadata: {
      name: 'web',
      namespace: 'default',
      creationTimestamp: '2024-01-01T00:00:00Z',
      labels: { a: 'b' },
    },
    spec: { hostNetwork: true, containers: [{ name: 'a', ports: [{ containerPort: 80 }] }] },
  }
  checkExpressions(
    `
object.metadata.name => 'web'
object.metadata.__namespace__ => 'default'
object.metadata.namespace => 'default'
object.metadata.creationTimestamp < timestamp('2025-01-01T00:00:00Z') => true
object.metadata.labels['a'] => 'b'
object.metadata.labels.a => 'b'
object.spec.containers.all(c, c.ports.all(p, p.containerPort > 1 && p.containerPort < 100)) => true
object.spec.containers[0].?image.orValue('none') => 'none'
has(object.spec.nodeName) => false
object.spec.nodeName =>! no such key: nodeName
object.spec.nope =>? undefined field 'nope'
object.spec.containers.all(c, c.name > 1) =>? found no matching overload for '_>_' applied to '(string, int)'
object.spec.containers[0] == object.spec.containers[0] => true
`,
    {
      environment: new Environment({ variables: { object: type } }),
      variables: { object: fromJson(pod, type) },
    },
  )
  assert.equal(showType(type), 'io.k8s.api.core.v1.Pod')
})

test('field names that are not identifiers are escaped', () => {
  const names = ['in', 'namespace', 'a-b', 'a.b', 'a/b', 'a__b', '_a', '__proto__', 'é', '1a', 'a b', 'true']
  const string: Schema = { type: 'string' }
  const fields = new Map<string, Field>(names.map(name => [name, { schema: string, required: false }]))
  const schema: StructSchema = {
    type: 'struct',
    name: '',
    fields,
    atomic: false,
    preserveUnknownFields: false,
  }
  const type = schemaType(schema, 'Custom')!
  const json = Object.fromEntries(names.map(name => [name, `<${name}>`]))
  checkExpressions(
    `
self.__in__ => '<in>'
self.__namespace__ => '<namespace>'
self.a__dash__b => '<a-b>'
self.a__dot__b => '<a.b>'
self.a__slash__b => '<a/b>'
self.a__underscores__b => '<a__b>'
self._a => '<_a>'
self.__underscores__proto__underscores__ => '<__proto__>'
self.__true__ => '<true>'
self.namespace => '<namespace>'
has(self.namespace) => true
self.while =>? undefined field 'while'
self.__proto__ =>? undefined field '__proto__'
self.constructor =>? undefined field 'constructor'
self == self => true
`,
    {
      environment: new Environment({ variables: { self: type } }),
      variables: { self: fromJson(json, type) },
    },
  )
})

test('CEL types of OpenAPI schemas', () => {
  const cases: readonly (readonly [Schema, string | undefined])[] = [
    [{ type: 'string' }, 'string'],
    [{ type: 'string', format: 'byte' }, 'bytes'],
    [{ type: 'string', format: 'date-time' }, 'timestamp'],
    [{ type: 'string', format: 'duration' }, 'duration'],
    [{ type: 'string', format: 'email' }, 'string'],
    [{ type: 'boolean' }, 'bool'],
    [{ type: 'integer', format: 'int32' }, 'int'],
    [{ type: 'number' }, 'double'],
    [{ type: 'int-or-string' }, 'dyn'],
    [{ type: 'quantity' }, 'dyn'],
    [{ type: 'list', items: { type: 'integer' }, listType: 'atomic', keys: [] }, 'list(int)'],
    [{ type: 'map', values: { type: 'boolean' }, atomic: false }, 'map(string, bool)'],
    [{ type: 'any' }, undefined],
    [{ type: 'any', name: 'io.k8s.apimachinery.pkg.runtime.RawExtension' }, 'dyn'],
    [{ type: 'list', items: { type: 'any' }, listType: 'atomic', keys: [] }, undefined],
    [{ type: 'map', values: { type: 'any' }, atomic: false }, undefined],
  ]
  for (const [schema, expected] of cases) {
    const type = schemaType(schema, 'x')
    assert.equal(type && showType(type), expected, JSON.stringify(schema))
  }
})

test('anonymous nested structs have their own types', () => {
  const struct = (fields: Record<string, Schema>): StructSchema => ({
    type: 'struct',
    name: '',
    fields: new Map(Object.entries(fields).map(([name, schema]) => [name, { schema, required: false }])),
    atomic: false,
    preserveUnknownFields: false,
  })
  const type = schemaType(
    struct({ a: struct({ x: { type: 'string' } }), b: struct({ y: { type: 'string' } }) }),
    'T',
  )!
  const environment = new Environment({ variables: { self: type } })
  checkExpressions(
    `
self.a.x => 'v'
self.a == self.b =>? found no matching overload for '_==_' applied to '(T.a, T.b)'
self.a.y =>? undefined field 'y'
`,
    { environment, variables: { self: fromJson({ a: { x: 'v' } }, type) } },
  )
  assert.notEqual(type, objectOf({ name: 'T', field: () => undefined }))
})
