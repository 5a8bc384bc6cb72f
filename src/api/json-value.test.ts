import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { deepFreeze, equalJson } from './json-value.ts'

function checkEqual(a: unknown, b: unknown, expected: boolean): void {
  assert.equal(equalJson(a, b), expected)
  assert.equal(equalJson(b, a), expected)
}

function nested(depth: number, leaf: unknown): unknown {
  let value = leaf
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { a: value }
  return value
}

test('equal is what is the same JSON', () => {
  checkEqual(null, null, true)
  checkEqual(null, {}, false)
  checkEqual(null, undefined, false)
  checkEqual(0, -0, true)
  checkEqual(1, 1n, true)
  checkEqual(1.5, 1n, false)
  checkEqual(2 ** 53, 2n ** 53n, true)
  checkEqual('1', 1, false)
  checkEqual([], {}, false)
  checkEqual([1, [2, { a: 3 }]], [1, [2, { a: 3 }]], true)
  checkEqual([1, 2], [2, 1], false)
  checkEqual([1], [1, 2], false)
  checkEqual({ a: 1, b: 2 }, { b: 2, a: 1 }, true)
  checkEqual({ a: 1 }, { a: 1, b: 2 }, false)
  checkEqual({ a: 1 }, { b: 1 }, false)
  checkEqual({ a: { b: [true, null] } }, { a: { b: [true, false] } }, false)
})

test('a key without a value counts as absent', () => {
  checkEqual({ a: 1, b: undefined }, { a: 1 }, true)
  checkEqual({ a: undefined }, { b: undefined }, true)
  checkEqual({ a: undefined }, { a: null }, false)
})

test('a key that every object inherits is not found in an object that lacks it', () => {
  checkEqual(JSON.parse('{"__proto__":{}}'), { y: {} }, false)
  checkEqual(JSON.parse('{"constructor":{}}'), JSON.parse('{"toString":{}}'), false)
  checkEqual(JSON.parse('{"__proto__":{"a":1}}'), JSON.parse('{"__proto__":{"a":1}}'), true)
})

test('a JSON value equals its copy, and no longer once anything in it changes', () => {
  fc.assert(
    fc.property(fc.jsonValue(), value => {
      const copy: unknown = JSON.parse(JSON.stringify(value))
      checkEqual(value, copy, true)
      checkEqual([value, 1], [copy, 2], false)
      checkEqual({ a: value, b: { c: 1 } }, { a: copy, b: { c: 2 } }, false)
    }),
  )
})

test('depth does not exhaust the stack', () => {
  checkEqual(nested(200_000, 1), nested(200_000, 1), true)
  checkEqual(nested(200_000, 1), nested(200_000, 2), false)
  assert.ok(Object.isFrozen(deepFreeze(nested(200_000, 1))))
})

test('freezes everything inside and returns the value itself', () => {
  const value = { a: [{ b: { c: 1 } }], d: 'x' }
  assert.equal(deepFreeze(value), value)
  assert.throws(() => {
    value.a.push({ b: { c: 2 } })
  }, TypeError)
  assert.throws(() => {
    ;(value.a[0] ?? assert.fail()).b.c = 2
  }, TypeError)
  for (const scalar of [null, undefined, 1, 1n, 'x', true]) assert.equal(deepFreeze(scalar), scalar)
})

test('does not walk into what is frozen already, and survives a cycle', () => {
  const inner = { deep: { open: 1 } }
  const frozen = Object.freeze(inner)
  deepFreeze({ frozen })
  assert.equal(Object.isFrozen(inner.deep), false)
  const cycle: { self?: unknown } = {}
  cycle.self = cycle
  assert.ok(Object.isFrozen(deepFreeze(cycle)))
})
