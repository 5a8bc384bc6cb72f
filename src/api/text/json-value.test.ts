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

test('equalJson compares structurally', () => {
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

test('equalJson treats undefined members as absent', () => {
  checkEqual({ a: 1, b: undefined }, { a: 1 }, true)
  checkEqual({ a: undefined }, { b: undefined }, true)
  checkEqual({ a: undefined }, { a: null }, false)
})

test('equalJson ignores inherited properties', () => {
  checkEqual(JSON.parse('{"__proto__":{}}'), { y: {} }, false)
  checkEqual(JSON.parse('{"constructor":{}}'), JSON.parse('{"toString":{}}'), false)
  checkEqual(JSON.parse('{"__proto__":{"a":1}}'), JSON.parse('{"__proto__":{"a":1}}'), true)
})

test('equalJson detects every change of a copy', () => {
  fc.assert(
    fc.property(fc.jsonValue(), value => {
      const copy: unknown = JSON.parse(JSON.stringify(value))
      checkEqual(value, copy, true)
      checkEqual([value, 1], [copy, 2], false)
      checkEqual({ a: value, b: { c: 1 } }, { a: copy, b: { c: 2 } }, false)
    }),
  )
})

test('equalJson does not exhaust the stack', () => {
  checkEqual(nested(200_000, 1), nested(200_000, 1), true)
  checkEqual(nested(200_000, 1), nested(200_000, 2), false)
  assert.ok(Object.isFrozen(deepFreeze(nested(200_000, 1))))
})

test('deepFreeze freezes recursively and returns the value', () => {
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

test('deepFreeze skips frozen values and terminates on cycles', () => {
  const inner = { deep: { open: 1 } }
  const frozen = Object.freeze(inner)
  deepFreeze({ frozen })
  assert.equal(Object.isFrozen(inner.deep), false)
  const cycle: { self?: unknown } = {}
  cycle.self = cycle
  assert.ok(Object.isFrozen(deepFreeze(cycle)))
})
