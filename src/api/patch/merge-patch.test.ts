import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isApiError } from '../errors.ts'
import { deepFreeze, equalJson, type JsonValue } from '../text/json-value.ts'
import { createMergePatch } from './create-merge-patch.ts'
import { applyMergePatch } from './merge-patch.ts'
import { nested, values, valuesWithoutNull } from './testdata/values.ts'

function check(target: JsonValue, patch: JsonValue, expected: JsonValue): void {
  assert.deepEqual(applyMergePatch(deepFreeze(target), deepFreeze(patch)), expected)
}

test('merge patch follows the examples of RFC 7386', () => {
  check({ a: 'b' }, { a: 'c' }, { a: 'c' })
  check({ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' })
  check({ a: 'b' }, { a: null }, {})
  check({ a: 'b', b: 'c' }, { a: null }, { b: 'c' })
  check({ a: ['b'] }, { a: 'c' }, { a: 'c' })
  check({ a: 'c' }, { a: ['b'] }, { a: ['b'] })
  check({ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } })
  check({ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] })
  check(['a', 'b'], ['c', 'd'], ['c', 'd'])
  check({ a: 'b' }, ['c'], ['c'])
  check({ a: 'foo' }, null, null)
  check({ a: 'foo' }, 'bar', 'bar')
  check({ e: null }, { a: 1 }, { e: null, a: 1 })
  check([1, 2], { a: 'b', c: null }, { a: 'b' })
  check({}, { a: { bb: { ccc: null } } }, { a: { bb: {} } })
})

test('merge patch treats names like __proto__ as ordinary members', () => {
  const patch: JsonValue = JSON.parse('{"__proto__":{"a":1},"constructor":{"prototype":{"a":1}}}')
  assert.equal(JSON.stringify(applyMergePatch({}, patch)), JSON.stringify(patch))
  assert.equal(
    JSON.stringify(applyMergePatch(patch, JSON.parse('{"__proto__":{"b":2}}'))),
    '{"__proto__":{"a":1,"b":2},"constructor":{"prototype":{"a":1}}}',
  )
  assert.equal(
    JSON.stringify(applyMergePatch(patch, JSON.parse('{"__proto__":null,"toString":null}'))),
    '{"constructor":{"prototype":{"a":1}}}',
  )
  assert.equal(Reflect.get({}, 'a'), undefined)
})

test('merge patches nested too deep are rejected', () => {
  const deep = nested(100_000)
  for (const attempt of [() => applyMergePatch({}, deep), () => createMergePatch(deep, nested(100_000))]) {
    assert.throws(attempt, error => isApiError(error, 'BadRequest'))
  }
  assert.ok(applyMergePatch({}, nested(900)))
})

test('a merge patch shares unchanged parts and returns the target if nothing changes', () => {
  const target = { a: { b: [1, { c: 2 }] }, d: { e: 1 } }
  const patched = applyMergePatch(target, { d: { e: 2 } })
  assert.ok(typeof patched === 'object' && patched !== null && !Array.isArray(patched))
  assert.equal(patched.a, target.a)
  assert.equal(applyMergePatch(target, { a: { b: [1, { c: 2 }], x: null }, d: {} }), target)
})

test('a created merge patch transforms the original into the modified value', () => {
  fc.assert(
    fc.property(valuesWithoutNull, valuesWithoutNull, (before, after) => {
      const patch = deepFreeze(createMergePatch(deepFreeze(before), deepFreeze(after)))
      assert.ok(equalJson(applyMergePatch(before, patch), after))
    }),
    { numRuns: 300 },
  )
})

test('merge patch is idempotent', () => {
  fc.assert(
    fc.property(values, values, (target, patch) => {
      const once = applyMergePatch(deepFreeze(target), deepFreeze(patch))
      assert.equal(applyMergePatch(once, patch), once)
    }),
    { numRuns: 300 },
  )
})
