import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { deepFreeze, type JsonValue } from '../text/json-value.ts'
import { equals, fieldSet, paths } from './field-set.ts'
import { parseFields, printFields } from './fields-v1.ts'
import { FieldPathError, printPath } from './path-element.ts'

function check(fields: JsonValue, expected: string, canonical = fields): void {
  const set = parseFields(deepFreeze(fields))
  assert.deepEqual([...paths(set)].map(printPath), expected === '' ? [] : expected.split(' '))
  assert.equal(JSON.stringify(printFields(set)), JSON.stringify(canonical))
}

test('fieldsV1 round trips', () => {
  check({}, '')
  check({ 'f:a': {}, 'f:b': { '.': {}, 'f:c': {} } }, '.a .b .b.c')
  check(
    { 'f:spec': { 'f:containers': { 'k:{"name":"web"}': { '.': {}, 'f:image': {}, 'f:name': {} } } } },
    '.spec.containers[name="web"] .spec.containers[name="web"].image .spec.containers[name="web"].name',
  )
  check({ 'f:finalizers': { 'v:"a"': {}, 'v:"b"': {} } }, '.finalizers[="a"] .finalizers[="b"]')
})

test('fieldsV1 is encoded canonically', () => {
  check({ 'f:b': {}, 'f:a': {} }, '.a .b', { 'f:a': {}, 'f:b': {} })
  check({ 'i:1': {}, 'v:"x"': {}, 'k:{"a": 1}': {}, 'f:z': {} }, '.z [a=1] [="x"] [1]', {
    'f:z': {},
    'k:{"a":1}': {},
    'v:"x"': {},
    'i:1': {},
  })
  check({ 'f:a': { 'f:b': {}, '.': {} } }, '.a .a.b', { 'f:a': { '.': {}, 'f:b': {} } })
  check({ 'f:a': { '.': {} }, 'f:b': null }, '.a .b', { 'f:a': {}, 'f:b': {} })
  check({ 'f:a': { 'x:new': {} }, '.': {}, 'x:new': 5 }, '.a', { 'f:a': {} })
  check({ 'v:1': {}, 'v:1.0': { 'f:a': {} } }, '[=1] [=1].a', { 'v:1': { '.': {}, 'f:a': {} } })
})

test('malformed fieldsV1 is rejected', () => {
  let deep: JsonValue = {}
  for (let level = 0; level < 100_000; level++) deep = { 'f:a': deep }
  const refused: JsonValue[] = [
    null,
    1,
    'f:a',
    [],
    { 'f:a': 1 },
    { 'f:a': [] },
    { 'f:a': 'x' },
    { a: {} },
    { '': {} },
    { 'v:': {} },
    JSON.parse('{"__proto__":{}}'),
    { 'f:a': { constructor: {} } },
    deep,
  ]
  for (const fields of refused) assert.throws(() => parseFields(fields), FieldPathError)
})

test('fieldsV1 treats names like __proto__ as ordinary names', () => {
  const fields = JSON.parse('{"f:__proto__":{"f:constructor":{}},"f:toString":{}}') as JsonValue
  check(fields, '.toString .__proto__.constructor')
  assert.equal(({} as { constructor: unknown }).constructor, Object)
})

test('encoding and decoding of fieldsV1 is cached', () => {
  const set = fieldSet([['f:a'], ['f:b', 'f:c']])
  const written = printFields(set)
  assert.equal(printFields(set), written)
  assert.equal(parseFields(written), parseFields(written))
  assert.equal(printFields(parseFields(written)), written)
})

test('equal field sets share one encoded object', () => {
  const status = [['f:status'], ['f:status', 'f:phase']]
  // A level is shared from the second time on, and the level around it after that.
  const [, , written] = Array.from({ length: 3 }, () => printFields(fieldSet(status)))
  assert.ok(written)
  assert.equal(printFields(fieldSet(status.toReversed())), written)
  assert.equal(printFields(fieldSet([['f:spec'], ...status]))['f:status'], written['f:status'])
})

test('equal field sets of many characters are not kept', () => {
  const names = Array.from({ length: 300 }, (_, index) => [`f:field${index}`])
  const [, , written] = Array.from({ length: 3 }, () => printFields(fieldSet(names)))
  assert.notEqual(printFields(fieldSet(names)), written)
  assert.deepEqual(printFields(fieldSet(names)), written)
})

test('random field sets round trip through fieldsV1', () => {
  const element = fc.oneof(
    fc.string().map(name => `f:${name}`),
    fc.string().map(name => `v:${JSON.stringify(name).replaceAll(/[<>&\u2028\u2029]/g, '')}`),
    fc.integer().map(value => `k:{"a":${value}}`),
    fc.nat().map(index => `i:${index}`),
  )
  const path = fc.array(element, { minLength: 1, maxLength: 4 })
  fc.assert(
    fc.property(fc.array(path, { maxLength: 6 }), list => {
      const set = fieldSet(list)
      const copy = JSON.parse(JSON.stringify(printFields(set))) as JsonValue
      assert.ok(equals(parseFields(copy), set))
      assert.equal(JSON.stringify(printFields(parseFields(copy))), JSON.stringify(copy))
    }),
  )
})
