import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatFieldError } from '../field-error.ts'
import type { JSONSchemaProps } from '../generated/apiextensions/v1.ts'
import type { JsonValue } from '../text/json-value.ts'
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

test('items of sets of any type are compared as values', () => {
  const check = (set: JsonValue[]) => compileListCheck(schema)?.({ set })?.map(formatFieldError)
  assert.deepEqual(check(['{"a":1}', { a: 1 }, '1', 1, true, 'true', null, 'null', '"x"', 'x']), [])
  assert.deepEqual(
    check([
      { a: 1, b: 2 },
      { b: 2, a: 1 },
    ]),
    ['set[1]: Duplicate value: {"b":2,"a":1}'],
  )
  assert.deepEqual(check([1, 1]), ['set[1]: Duplicate value: 1'])
})

test('a schema without set and map lists needs no check', () => {
  assert.equal(
    compileListCheck({ type: 'object', properties: { a: { type: 'array', items: {} } } }),
    undefined,
  )
})
