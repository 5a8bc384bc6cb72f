import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compile } from './cel.ts'
import { checkExpressions } from './test-expressions.ts'
import { Budget, expressionCostMax } from './cost.ts'
import { Environment } from './environment.ts'
import { fromJson, toJson } from './json.ts'
import {
  boolType,
  bytesType,
  doubleType,
  durationType,
  dynType,
  intType,
  listOf,
  mapOf,
  objectOf,
  type ObjectType,
  stringType,
  timestampType,
  type Type,
  uintType,
} from './type.ts'
import { list, map, object, Optional, Uint } from './value.ts'

const types: Readonly<Record<string, Type>> = {
  double: doubleType,
  uint: uintType,
  bytes: bytesType,
  moment: timestampType,
  day: timestampType,
  length: durationType,
  any: dynType,
  text: stringType,
  on: boolType,
  whole: intType,
  wrong: intType,
  many: listOf(doubleType),
  named: mapOf(stringType, bytesType),
  __namespace__: stringType,
}
const thing: ObjectType = {
  name: 'Thing',
  field: name => (Object.hasOwn(types, name) ? types[name] : undefined),
  property: name => (name === '__namespace__' ? 'namespace' : name),
  fieldOf: name => (name === 'namespace' ? '__namespace__' : name),
}
const json = {
  double: 3,
  uint: 3,
  bytes: 'aGk=',
  moment: '2024-02-29T12:00:00Z',
  day: '2024-02-29',
  length: '1h30m',
  any: { whole: 1, part: 1.5, huge: 1e300, exact: 9_223_372_036_854_775_807n, beyond: 2n ** 63n },
  text: 'a',
  on: true,
  whole: 5,
  wrong: 'x',
  many: [1, 2.5],
  named: { a: 'aGk=' },
  namespace: 'here',
  hidden: 1,
}

test('JSON is converted by its declared type', () => {
  checkExpressions(
    `
self.double => 3.0
self.uint => 3u
self.bytes => b'hi'
self.moment => timestamp('2024-02-29T12:00:00Z')
self.day => timestamp('2024-02-29T00:00:00Z')
self.length => duration('90m')
self.any.whole => 1
self.any.part => 1.5
self.any.huge => 1e300
self.any.exact => 9223372036854775807
self.any.beyond => 9223372036854775808.0
self.text => 'a'
self.on => true
self.whole => 5
self.wrong =>! invalid data, expected int, got string
self.many => [1.0, 2.5]
self.many.map(x, x * 2.0) => [2.0, 5.0]
self.named['a'] => b'hi'
self.__namespace__ => 'here'
has(self.__namespace__) => true
self.hidden =>? undefined field 'hidden'
self == self =>! invalid data, expected int, got string
`,
    {
      environment: new Environment({ variables: { self: objectOf(thing) } }),
      variables: { self: fromJson(json, objectOf(thing)) },
    },
  )
})

test('JSON that does not match its declared type is rejected', () => {
  const cases: readonly (readonly [unknown, Type, RegExp])[] = [
    ['1', intType, /expected int, got string/],
    [1.5, intType, /expected int, got number/],
    [2n ** 63n, intType, /expected int, got bigint/],
    [-1, uintType, /expected uint, got number/],
    [1, stringType, /expected string, got number/],
    ['x', boolType, /expected bool, got string/],
    ['x', doubleType, /expected float, got string/],
    [{}, listOf(dynType), /expected array, got object/],
    [[], mapOf(stringType, dynType), /expected map, got array/],
    [[], objectOf(thing), /expected map, got array/],
    ['noon', timestampType, /Invalid date-time formatted string noon/],
    ['long', durationType, /Invalid duration long/],
  ]
  for (const [value, type, message] of cases) {
    assert.throws(() => fromJson(value, type), { name: 'EvaluationError', message }, String(value))
  }
})

test('values are converted to JSON', () => {
  const environment = new Environment({ variables: { self: dynType } })
  const cases: readonly (readonly [string, unknown])[] = [
    ['null', null],
    ['[1, 2]', [1, 2]],
    ['9223372036854775807', 9_223_372_036_854_775_807n],
    ['5u', 5],
    ['1.5', 1.5],
    ["{'a': dyn([true]), 'b': {'c': 'd'}}", { a: [true], b: { c: 'd' } }],
    ['{1: 2, true: 3}.map(k, k)', [1, true]],
    ["b'hi'", 'aGk='],
    ["duration('90s')", '90s'],
    ["timestamp('2024-01-01T00:00:00Z')", '2024-01-01T00:00:00Z'],
    ['type(1)', 'int'],
    ['self.map(x, x)', [{ a: 1 }]],
    ['self[0]', { a: 1 }],
  ]
  for (const [expression, expected] of cases) {
    const program = compile(expression.replace('{1: 2, true: 3}', '{dyn(1): 2, dyn(true): 3}'), environment)
    const value = program.evaluate({ self: fromJson([{ a: 1 }], dynType) }, new Budget(expressionCostMax))
    assert.deepEqual(toJson(value), expected, expression)
  }
  assert.deepEqual(toJson(object(thing, new Map([['__namespace__', 'x']]))), { namespace: 'x' })
  assert.deepEqual(toJson(map([[new Uint(5n), list([])]])), { 5: [] })
  assert.throws(() => toJson(Number.NaN), { name: 'EvaluationError', message: 'cannot convert NaN to JSON' })
  assert.throws(() => toJson(Optional.none), {
    message: 'cannot convert a value of type optional_type to JSON',
  })
})

test('a key named __proto__ survives conversion in both directions', () => {
  const hostile: unknown = JSON.parse('{"__proto__": {"polluted": true}, "a": 1}')
  const value = fromJson(hostile, dynType)
  assert.deepEqual(Object.keys(toJson(value) as object), ['__proto__', 'a'])
  const copied = toJson(map([['__proto__', map([['polluted', true]])]]))
  assert.deepEqual(Object.keys(copied as object), ['__proto__'])
  assert.equal(Object.hasOwn({}, 'polluted') || 'polluted' in {}, false)
})

test('property: JSON survives a round trip', () => {
  const environment = new Environment({ variables: { self: dynType } })
  const rebuild = compile(
    'self.map(x, type(x) == list ? x.map(y, y) : type(x) == map ? x.transformMap(k, v, v) : x)',
    environment,
  )
  fc.assert(
    fc.property(fc.array(fc.jsonValue()), value => {
      const variables = { self: fromJson(value, dynType) }
      const copy = toJson(rebuild.evaluate(variables, new Budget(Infinity)))
      assert.equal(JSON.stringify(copy), JSON.stringify(value))
    }),
    { numRuns: 200 },
  )
})
