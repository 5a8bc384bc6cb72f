import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatFieldError } from '../field-error.ts'
import type { JSONSchemaProps } from '../generated/apiextensions/v1.ts'
import { compileListCheck } from './validate-lists.ts'

const schema: JSONSchemaProps = {
  type: 'object',
  properties: {
    set: { 'type': 'array', 'items': { type: 'string' }, 'x-kubernetes-list-type': 'set' },
    map: {
      'type': 'array',
      'items': { type: 'object', properties: { k: { type: 'string' }, v: { type: 'integer' } } },
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['k'],
    },
  },
}

test('items of set and map lists are unique', () => {
  const errors = compileListCheck(schema)?.({
    set: ['a', 'b', 'a'],
    map: [{ k: 'a' }, { k: 'b' }, { k: 'a', v: 1 }],
  })
  assert.deepEqual(errors?.map(formatFieldError), [
    'set[2]: Duplicate value: "a"',
    'map[2]: Duplicate value: {"k":"a"}',
  ])
  assert.deepEqual(compileListCheck(schema)?.({ set: ['a'], map: [{ k: 'a' }, { v: 1 }] }), [])
})

test('a schema without set and map lists needs no check', () => {
  assert.equal(
    compileListCheck({ type: 'object', properties: { a: { type: 'array', items: {} } } }),
    undefined,
  )
})
