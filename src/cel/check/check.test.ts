import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CelError } from '../cel-error.ts'
import { compile } from '../cel.ts'
import { checkExpressions, testEnvironment } from '../test-expressions.ts'
import { Environment } from '../environment.ts'
import { dynType, intType, listOf, objectOf, type ObjectType, showType, stringType } from '../type.ts'
import { object } from '../value.ts'

const pod: ObjectType = {
  name: 'Pod',
  field: name => (name === 'ports' ? listOf(intType) : name === 'name' ? stringType : undefined),
}
const typed = new Environment({
  variables: { self: objectOf(pod), anything: dynType },
  libraries: [
    {
      constructors: {
        find: name => (name === 'Pod' ? { type: pod, construct: fields => object(pod, fields) } : undefined),
      },
    },
  ],
})

test('undeclared references are errors', () => {
  checkExpressions(`
foo =>? undeclared reference to 'foo' (in container '')
foo.bar =>? undeclared reference to 'foo' (in container '')
foo(1) =>? undeclared reference to 'foo' (in container '')
names.foo() =>? undeclared reference to 'foo' (in container '')
deep =>? undeclared reference to 'deep' (in container '')
deep.other =>? undeclared reference to 'deep' (in container '')
[1].map(x, y) =>? undeclared reference to 'y' (in container '')
[1].map(x, x) + [x] =>? undeclared reference to 'x' (in container '')
Foo{} =>? undeclared reference to 'Foo' (in container '')
`)
})

test('calls without a matching overload are errors', () => {
  checkExpressions(`
1 + 'a' =>? found no matching overload for '_+_' applied to '(int, string)'
1 + 1u =>? found no matching overload for '_+_' applied to '(int, uint)'
1 == 'a' =>? found no matching overload for '_==_' applied to '(int, string)'
1 == 1.0 =>? found no matching overload for '_==_' applied to '(int, double)'
1 == null =>? found no matching overload for '_==_' applied to '(int, null)'
[1] == ['a'] =>? found no matching overload for '_==_' applied to '(list(int), list(string))'
!1 =>? found no matching overload for '!_' applied to '(int)'
-'a' =>? found no matching overload for '-_' applied to '(string)'
size(1) =>? found no matching overload for 'size' applied to '(int)'
number.size() =>? found no matching overload for 'size' applied to 'int.()'
'a'.startsWith(1) =>? found no matching overload for 'startsWith' applied to 'string.(int)'
1 in ['a'] =>? found no matching overload for '@in' applied to '(int, list(string))'
1 in {'a': 1} =>? found no matching overload for '@in' applied to '(int, map(string, int))'
limits[1] =>? found no matching overload for '_[_]' applied to '(map(string, int), int)'
names['a'] =>? found no matching overload for '_[_]' applied to '(list(string), string)'
true ? 1 : 'a' =>? found no matching overload for '_?_:_' applied to '(bool, int, string)'
1 ? 2 : 3 =>? found no matching overload for '_?_:_' applied to '(int, int, int)'
startsWith('a', 'b') =>? found no matching overload for 'startsWith' applied to '(string, string)'
timestamp(0) < duration('1s') =>? found no matching overload for '_<_' applied to '(timestamp, duration)'
optional.of(1).orValue('a') =>? found no matching overload for 'orValue' applied to 'optional_type(int).(string)'
`)
})

test('mismatched types are errors', () => {
  checkExpressions(`
true && 1 =>? expected type 'bool' but found 'int'
'a' || true =>? expected type 'bool' but found 'string'
[1, 'a'] =>? expected type 'int' but found 'string'
{'a': 1, 2: 2} =>? expected type 'string' but found 'int'
{'a': 1, 'b': 'c'} =>? expected type 'int' but found 'string'
[?1] =>? expected type 'optional_type(int)' but found 'int'
{?'a': 1} =>? expected type 'optional_type(int)' but found 'int'
names.all(n, 1) =>? expected type 'bool' but found 'int'
names.filter(n, n) =>? expected type 'bool' but found 'string'
number.all(n, true) =>? expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)
names.foo =>? type 'list(string)' does not support field selection
number.foo =>? type 'int' does not support field selection
has(number.foo) =>? type 'int' does not support field selection
limits.transformMapEntry(k, v, v) =>? expected type 'map(dyn, dyn)' but found 'int'
`)
})

test('invalid duration, timestamp and regular expression literals are errors', () => {
  checkExpressions(`
duration('1x') =>? invalid duration argument
timestamp('yesterday') =>? invalid timestamp argument
'a'.matches('(') =>? invalid matches argument
matches('a', 'a**') =>? invalid matches argument
duration(string(1)) =>! type conversion error from 'string' to 'google.protobuf.Duration'
`)
})

test('type checks of object fields', () => {
  checkExpressions(
    `
self.foo =>? undefined field 'foo'
has(self.foo) =>? undefined field 'foo'
self.?foo =>? undefined field 'foo'
self.name + 1 =>? found no matching overload for '_+_' applied to '(string, int)'
self == 1 =>? found no matching overload for '_==_' applied to '(Pod, int)'
Pod{foo: 1} =>? undefined field 'foo'
Pod{name: 1} =>? expected type of field 'name' is 'string' but provided type is 'int'
Pod{?name: 'a'} =>? expected type 'optional_type(string)' but found 'string'
Pod{name: 'a', ports: [1]}.ports[0] => 1
Pod{name: anything.x}.name => 'y'
Pod{?name: optional.none()} == Pod{} => true
Pod{?name: anything.?x} == Pod{name: 'y'} => true
has(Pod{}.name) => false
Pod{}.name =>! no such key: name
type(Pod{}) == type(Pod{name: 'a'}) => true
`,
    {
      environment: typed,
      variables: { anything: object({ name: 'X', field: () => dynType }, new Map([['x', 'y']])) },
    },
  )
})

test('the result type of an expression', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['1', 'int'],
    ['[]', 'list(dyn)'],
    ['{}', 'map(dyn, dyn)'],
    ['[[]] + [[1]]', 'list(list(int))'],
    ['names.map(n, n.size())', 'list(int)'],
    ['names.filter(n, true)', 'list(string)'],
    ['limits.map(k, k)', 'list(string)'],
    ['limits.transformMap(k, v, v > 1)', 'map(string, bool)'],
    ['limits.transformMapEntry(k, v, {v: k})', 'map(int, string)'],
    ['names.transformList(i, n, i)', 'list(int)'],
    ['object.a.b', 'dyn'],
    ['object.?a', 'optional_type(dyn)'],
    ['limits.?cpu', 'optional_type(int)'],
    ['limits[?"cpu"].orValue(1)', 'int'],
    ['optional.none()', 'optional_type(dyn)'],
    ['type(1)', 'type(int)'],
    ['flag ? object.a : 1', 'dyn'],
    ['object.a + 1', 'int'],
    ['object.a + object.b', 'dyn'],
    ['object.a < 1', 'bool'],
    ['null', 'null'],
    ['[1, object.a]', 'list(dyn)'],
    ['cel.bind(a, 1, [a])', 'list(int)'],
    ['timestamp(0) - timestamp(1)', 'duration'],
    ["{[1]: 'a'}", 'map(dyn, string)'],
  ]
  for (const [expression, type] of cases) {
    assert.equal(showType(compile(expression, testEnvironment).type), type, expression)
  }
})

test('an error message shows every problem with its line and a caret', () => {
  const expression = 'foo +\n\t"\u00e9é" + (bar)'
  assert.throws(() => compile(expression, testEnvironment), {
    name: 'CelError',
    message:
      `ERROR: <input>:1:1: undeclared reference to 'foo' (in container '')\n | foo +\n | ^\n` +
      `ERROR: <input>:2:10: undeclared reference to 'bar' (in container '')\n |  "éé" + (bar)\n | ..．．.....^`,
  })
})

test('at most a hundred problems are shown', () => {
  assert.throws(
    () => compile(`[${'nope(),'.repeat(150)}]`, testEnvironment),
    (error: CelError) =>
      error.issues.length === 150 && error.message.endsWith('\n50 more errors were truncated'),
  )
})

test('types do not grow exponentially with nesting', () => {
  let expression = '1'
  for (let level = 80; level > 0; level--)
    expression = `[{x${level}: x${level}}].map(x${level + 1}, ${expression})`
  assert.equal(showType(compile(`[1].map(x1, ${expression})`, testEnvironment).type).length < 1_000, true)
})
