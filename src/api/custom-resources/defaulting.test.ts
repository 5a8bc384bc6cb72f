import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JSONSchemaProps } from '../generated/apiextensions/v1.ts'
import type { JsonObject } from '../text/json-object.ts'
import { deepFreeze } from '../text/json-value.ts'
import { compileDefaulting } from './defaulting.ts'

const schema: JSONSchemaProps = {
  type: 'object',
  properties: {
    metadata: { type: 'object', properties: { name: { type: 'string', default: 'never' } } },
    a: { type: 'string', default: 'x' },
    b: { type: 'object', default: {}, properties: { c: { type: 'integer', default: 5 } } },
    n: { type: 'string', nullable: true, default: 'n' },
    plain: { type: 'string' },
    list: { type: 'array', items: { type: 'object', properties: { f: { type: 'string', default: 'f' } } } },
    map: {
      type: 'object',
      additionalProperties: { type: 'object', properties: { v: { type: 'integer', default: 1 } } },
    },
  },
}

function check(object: JsonObject, expected: JsonObject): void {
  const fill = compileDefaulting(schema)
  const filled = fill(deepFreeze(object))
  assert.deepEqual(filled, expected)
  assert.equal(fill(filled), filled)
}

const full = { a: 'x', b: { c: 5 }, n: 'n' }

test('missing fields of a custom resource get their defaults, also nested ones', () => {
  check({}, full)
  check({ a: 'y', b: { c: 1 }, n: 'z' }, { a: 'y', b: { c: 1 }, n: 'z' })
  check({ metadata: {} }, { ...full, metadata: {} })
  check({ list: [{}, { f: 'g' }] }, { ...full, list: [{ f: 'f' }, { f: 'g' }] })
  check({ map: { k: {}, l: { v: 2 } } }, { ...full, map: { k: { v: 1 }, l: { v: 2 } } })
})

test('a null is dropped or replaced by the default, unless the field is nullable', () => {
  check({ a: null, plain: null, n: null }, { ...full, n: null })
  check({ map: { k: null } }, { ...full, map: {} })
})
