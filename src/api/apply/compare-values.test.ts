import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deepFreeze, type JsonValue } from '../text/json-value.ts'
import type { Schema } from '../schema.ts'
import { compareValues, isSame } from './compare-values.ts'
import { paths, type FieldSet } from './field-set.ts'
import { printPath } from './path-element.ts'
import { TypedValueError } from './structure.ts'
import { customSchema, deploymentSchema } from './testdata/schemas.ts'

/** The changes in short notation: `+.added ~.modified -.removed`. */
function show(schema: Schema, before: JsonValue, after: JsonValue): string {
  const { added, modified, removed } = compareValues(schema, deepFreeze(before), deepFreeze(after))
  const list = (sign: string, set: FieldSet) => [...paths(set)].map(path => sign + printPath(path))
  return [...list('+', added), ...list('~', modified), ...list('-', removed)].join(' ')
}

function check(before: JsonValue, after: JsonValue, expected: string): void {
  assert.equal(show(deploymentSchema, before, after), expected)
  const reversed = expected.split(' ').map(each => each.replace(/^[+-]/, sign => (sign === '+' ? '-' : '+')))
  assert.deepEqual(new Set(show(deploymentSchema, after, before).split(' ')), new Set(reversed))
}

test('compareValues reports added, modified and removed leaves', () => {
  check({ spec: { replicas: 1 } }, { spec: { replicas: 1 } }, '')
  check({ spec: { replicas: 1 } }, { spec: { replicas: 2 } }, '~.spec.replicas')
  check({ spec: { replicas: 1 } }, { spec: { paused: true } }, '+.spec.paused -.spec.replicas')
  check({}, { spec: { replicas: 1 } }, '+.spec +.spec.replicas')
  check({ spec: {} }, { spec: { replicas: 1 } }, '+.spec.replicas')
  check({ spec: null }, { spec: { replicas: 1 } }, '+.spec.replicas')
  check({ spec: {} }, { spec: null }, '~.spec')
  check({ spec: { replicas: 1 } }, { spec: { replicas: 1n } }, '')
})

test('compareValues reports atomic values as a whole', () => {
  const selector = (value: string) => ({ spec: { selector: { matchLabels: { a: value } } } })
  check(selector('1'), selector('2'), '~.spec.selector')
  check({ spec: {} }, selector('2'), '+.spec.selector')
})

test('compareValues matches list items by key, not order', () => {
  const conditions = (...list: JsonValue[]) => ({ status: { conditions: list } })
  const [ready, gone] = [
    { type: 'Ready', status: 'True' },
    { type: 'Gone', status: 'True' },
  ]
  check(conditions(ready, gone), conditions(gone, ready), '')
  check(
    conditions(ready),
    conditions({ ...ready, status: 'False' }),
    '~.status.conditions[type="Ready"].status',
  )
  const prefix = '.status.conditions[type="Gone"]'
  check(conditions(ready), conditions(ready, gone), `+${prefix} +${prefix}.status +${prefix}.type`)
  check(
    { metadata: { finalizers: ['a', 'b'] } },
    { metadata: { finalizers: ['c', 'a'] } },
    '+.metadata.finalizers[="c"] -.metadata.finalizers[="b"]',
  )
})

test('compareValues reports items with equal keys together', () => {
  const conditions = (...statuses: string[]) => {
    return { status: { conditions: statuses.map(status => ({ type: 'A', status })) } }
  }
  const prefix = '.status.conditions[type="A"]'
  const compare = (a: string[], b: string[]) => show(deploymentSchema, conditions(...a), conditions(...b))
  assert.equal(compare(['1', '2'], ['1', '2']), '')
  assert.equal(compare(['1', '2'], ['1', '3']), `~${prefix}`)
  assert.equal(compare(['1', '2'], ['1']), `+${prefix} +${prefix}.status +${prefix}.type -${prefix}`)
  assert.equal(compare(['1'], ['1', '2']), `+${prefix} -${prefix} -${prefix}.status -${prefix}.type`)
})

test('compareValues: a value without schema may change its type', () => {
  const check = (before: JsonValue, after: JsonValue, expected: string) => {
    assert.equal(show(customSchema, { anything: before }, { anything: after }), expected)
  }
  check(1, { a: 1 }, '+.anything.a ~.anything')
  check({ a: 1 }, 'x', '~.anything -.anything.a')
  check([1], [2], '~.anything')
  check(null, { a: 1 }, '+.anything.a')
  check(null, 1, '~.anything')
})

test('compareValues treats keys like __proto__ as ordinary keys', () => {
  const value = JSON.parse('{"spec":{"__proto__":{"a":1},"constructor":1}}') as JsonValue
  assert.equal(
    show(customSchema, { spec: {} }, value),
    '+.spec.__proto__ +.spec.constructor +.spec.__proto__.a',
  )
  assert.equal(show(customSchema, value, structuredClone(value)), '')
})

test('compareValues rejects deep nesting without exhausting the stack', () => {
  const deep = (leaf: JsonValue) => {
    let value = leaf
    for (let level = 0; level < 50_000; level++) value = { a: value }
    return { anything: value }
  }
  assert.throws(() => compareValues(customSchema, deep(1), deep(2)), TypedValueError)
})

test('compareValues skips shared parts', () => {
  const shared = new Proxy({}, { ownKeys: () => assert.fail('looked into what is shared') })
  const { proxy } = { proxy: shared as JsonValue }
  const before = { spec: { template: proxy, replicas: 1 }, status: proxy }
  assert.equal(isSame(compareValues(deploymentSchema, before, { ...before })), true)
  assert.equal(show(deploymentSchema, { anything: 1 }, { anything: 2 }), '~.anything')
  const after = { ...before, spec: { ...before.spec, replicas: 2 } }
  assert.equal([...paths(compareValues(deploymentSchema, before, after).modified)].length, 1)
})
