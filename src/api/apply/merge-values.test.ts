import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deepFreeze, equalJson, type JsonValue } from '../text/json-value.ts'
import { mergeValues } from './merge-values.ts'
import { customSchema, deploymentSchema, setOf, string } from './testdata/schemas.ts'

function check(live: JsonValue, applied: JsonValue, expected: JsonValue): void {
  const merged = mergeValues(deploymentSchema, deepFreeze(live), deepFreeze(applied))
  assert.deepEqual(merged, expected)
  if (equalJson(live, expected)) assert.equal(merged, live)
}

test('merge: applied values win and nothing is removed', () => {
  check(
    { spec: { replicas: 1, paused: true } },
    { spec: { replicas: 2 } },
    { spec: { replicas: 2, paused: true } },
  )
  check({ spec: { replicas: 1 } }, { spec: { replicas: 1 } }, { spec: { replicas: 1 } })
  check({}, { spec: { replicas: 1 } }, { spec: { replicas: 1 } })
  check(
    { metadata: { labels: { a: '1' } } },
    { metadata: { labels: { b: '2' } } },
    { metadata: { labels: { a: '1', b: '2' } } },
  )
  check(
    { metadata: { labels: { a: '1' } } },
    { metadata: { labels: {} } },
    { metadata: { labels: { a: '1' } } },
  )
})

test('merge replaces atomic values', () => {
  const selector = (labels: JsonValue) => ({ spec: { selector: { matchLabels: labels } } })
  check(selector({ a: '1' }), selector({ b: '2' }), selector({ b: '2' }))
})

test('merge: null clears a leaf but keeps granular maps and lists', () => {
  check({ spec: { replicas: 1 } }, { spec: { replicas: null } }, { spec: { replicas: null } })
  check(
    { metadata: { labels: { a: '1' } } },
    { metadata: { labels: null } },
    { metadata: { labels: { a: '1' } } },
  )
  check(
    { metadata: { finalizers: ['a'] } },
    { metadata: { finalizers: null } },
    { metadata: { finalizers: ['a'] } },
  )
})

test('merge matches list items by key', () => {
  const conditions = (...list: JsonValue[]) => ({ status: { conditions: list } })
  check(
    conditions({ type: 'A', status: '1' }, { type: 'B' }),
    conditions({ type: 'A', reason: 'x' }),
    conditions({ type: 'A', status: '1', reason: 'x' }, { type: 'B' }),
  )
})

test('merge orders items by the applied configuration', () => {
  const order = (live: string, applied: string, expected: string) => {
    const merged = mergeValues(setOf(string), deepFreeze(live.split('')), deepFreeze(applied.split('')))
    assert.equal((merged as string[]).join(''), expected, `${live} with ${applied}`)
  }
  order('abc', 'abc', 'abc')
  order('abc', 'cba', 'cba')
  order('abc', '', 'abc')
  order('', 'ab', 'ab')
  order('abc', 'd', 'abcd')
  order('abc', 'bd', 'abcd')
  order('abc', 'db', 'adbc')
  order('abc', 'dab', 'dabc')
  order('axb', 'ba', 'xba')
  order('axbyc', 'ca', 'xbyca')
  order('abcd', 'adcb', 'adcb')
  order('xaybz', 'apb', 'xaypbz')
  order('aab', 'a', 'ab')
  order('aab', 'b', 'aab')
})

test('merge: a value without schema may change its type', () => {
  const merge = (live: JsonValue, applied: JsonValue) => {
    return mergeValues(customSchema, deepFreeze({ anything: live }), deepFreeze({ anything: applied }))
  }
  assert.deepEqual(merge({ a: 1 }, { b: 2 }), { anything: { a: 1, b: 2 } })
  assert.deepEqual(merge({ a: 1 }, 5), { anything: 5 })
  assert.deepEqual(merge(5, { a: 1 }), { anything: { a: 1 } })
  assert.deepEqual(merge([1, 2], [3]), { anything: [3] })
})

test('merge treats keys like __proto__ as ordinary keys', () => {
  const hostile = JSON.parse('{"anything":{"__proto__":{"a":1},"constructor":2}}') as JsonValue
  const merged = mergeValues(customSchema, deepFreeze({ anything: { x: 1 } }), deepFreeze(hostile))
  assert.equal(JSON.stringify(merged), '{"anything":{"x":1,"__proto__":{"a":1},"constructor":2}}')
  assert.equal(({} as { a?: unknown }).a, undefined)
})
