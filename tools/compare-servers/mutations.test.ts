import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Mutations } from './mutations.ts'
import { Schemas } from './schemas.ts'
import { updatePatches } from './update-patches.ts'

const spec = {
  type: 'object',
  required: ['size'],
  properties: {
    size: { type: 'integer' },
    names: { type: 'array', items: { type: 'string' } },
    mode: { type: 'string' },
  },
}
const thing = {
  'type': 'object',
  'required': ['spec'],
  'properties': { spec: { allOf: [{ $ref: '#/components/schemas/Spec' }] } },
  'x-kubernetes-group-version-kind': [{ group: 'g', version: 'v1', kind: 'Thing' }],
}
const schemas = new Schemas([{ components: { schemas: { Thing: thing, Spec: spec } } }])
const kind = { group: 'g', version: 'v1', kind: 'Thing' }

test('every field is changed in every way that its type allows, and absent fields are added', () => {
  const body = { apiVersion: 'g/v1', kind: 'Thing', spec: { size: 1, names: ['a'] } }
  const mutations = new Mutations(schemas)
  const found = new Map(
    mutations.of(body, schemas.ofKind(kind)).map(({ about, body }) => [about, body['spec']]),
  )
  const expected: Readonly<Record<string, unknown>> = {
    'spec missing': undefined,
    'spec null': null,
    'spec.size missing': { names: ['a'] },
    'spec.size text': { size: 'x', names: ['a'] },
    'spec.size negative': { size: -1, names: ['a'] },
    'spec.names with a duplicate': { size: 1, names: ['a', 'a'] },
    'spec.names.0 missing': { size: 1, names: [] },
    'spec.names.0 empty': { size: 1, names: [''] },
    'spec with an unknown field': { size: 1, names: ['a'], unknownField: 1 },
    'spec with mode': { size: 1, names: ['a'], mode: 'Not Valid!' },
    'spec with mode empty': { size: 1, names: ['a'], mode: '' },
    'object with an unknown field': body.spec,
  }
  for (const [about, value] of Object.entries(expected)) {
    assert.ok(found.has(about), about)
    assert.deepEqual(found.get(about), value, about)
  }
  assert.ok(!found.has('apiVersion missing'))
  const again = mutations.of(body, schemas.ofKind(kind)).map(({ about }) => about)
  assert.ok(!again.includes('spec with mode'), 'absent fields of a type are added once')
})

test('a body derived from a schema has everything that is required', () => {
  assert.deepEqual(schemas.derive(schemas.ofKind(kind)!), { spec: { size: 1 } })
})

test('an update patch changes one field', () => {
  const body = {
    metadata: { name: 'a' },
    spec: { size: 1, on: true, list: [{ name: 'a', ports: [{ port: 1 }] }, { name: 'b' }] },
  }
  assert.deepEqual(
    updatePatches(body).map(({ about, patch }) => [about, patch]),
    [
      ['spec removed', { spec: null }],
      ['spec.size removed', { spec: { size: null } }],
      ['spec.size changed', { spec: { size: 2 } }],
      ['spec.on removed', { spec: { on: null } }],
      ['spec.on changed', { spec: { on: false } }],
      ['spec.list removed', { spec: { list: null } }],
      ['spec.list 0.name changed', { spec: { list: [{ name: 'ax', ports: [{ port: 1 }] }, { name: 'b' }] } }],
      [
        'spec.list 0.ports.0.port changed',
        { spec: { list: [{ name: 'a', ports: [{ port: 2 }] }, { name: 'b' }] } },
      ],
    ],
  )
})
