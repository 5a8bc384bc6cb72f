import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { bindingsLibrary } from '../library.ts'
import { compile } from '../cel.ts'
import { CelError } from '../cel-error.ts'
import { checkExpressions, testEnvironment, testVariables } from '../test-expressions.ts'
import { Budget, expressionCostMax } from '../cost.ts'
import { Environment } from '../environment.ts'
import { EvaluationError } from '../evaluation-error.ts'
import { fromJson } from '../json.ts'
import { dynType } from '../type.ts'

test('&&, || and ?: absorb faults of operands that do not decide', () => {
  checkExpressions(`
true && true && false => false
false || false || true => true
1 / 0 > 0 || true => true
true || 1 / 0 > 0 => true
1 / 0 > 0 && false => false
false && 1 / 0 > 0 => false
1 / 0 > 0 || false =>! division by zero
1 / 0 > 0 && true =>! division by zero
1 / 0 > 0 || 1 % 0 > 0 =>! division by zero
object.name && false => false
object.name && true =>! no such overload
object.nope || object.on => true
true ? 1 : 1 / 0 => 1
false ? 1 / 0 : 2 => 2
object.name ? 1 : 2 =>! no such overload
`)
})

test('field selection and indexing', () => {
  checkExpressions(`
object.replicas => 3
object.large => 9007199254740993
object.ratio => 0.5
object.nope =>! no such key: nope
object.nope.deeper =>! no such key: nope
object.name.deeper =>! no such overload
object['name'] => 'web'
object[1] =>! no such key: 1
object.__proto__ =>! no such key: __proto__
object.constructor =>! no such key: constructor
has(object.toString) => false
'__proto__' in object => false
{'__proto__': 1}.__proto__ => 1
has({'__proto__': 1}.__proto__) => true
has(object.name) => true
has(object.nothing) => true
has(object.nope) => false
has(object.nope.deeper) =>! no such key: nope
has(object.labels.app) && object.labels.app == 'web' => true
'app' in object.labels => true
'x' in object.labels => false
1 in object.labels => false
object.list[3] =>! index out of bounds: 3
object.list[-1] =>! index out of bounds: -1
object.list['a'] =>! no such overload
object.mixed[1] => 'a'
[1, 2][dyn(1)] => 2
{1: 'a'}[dyn(1u)] => 'a'
{1: 'a'}[dyn(1.0)] => 'a'
{1: 'a'}[dyn(1.5)] =>! no such key: 1.5
{1u: 'a'}[dyn(1)] => 'a'
{true: 1}[true] => 1
{true: 1}[false] =>! no such key: false
{'a': 1, 'a': 2} => {'a': 2}
{1.5: 'a'} =>! unsupported key type: double
{[1]: 'a'} =>! unsupported key type: list
unset =>! no such attribute(s): unset
unset == 1 || true => true
`)
})

test('equality of values of all types', () => {
  checkExpressions(`
dyn(1) == 1u => true
dyn(1) == 1.0 => true
dyn(1u) == 1.0 => true
dyn(1) == 1.5 => false
dyn(1) == '1' => false
dyn(9007199254740993) == 9007199254740992.0 => false
double('NaN') == double('NaN') => false
double('NaN') != double('NaN') => true
0.0 == -0.0 => true
dyn(null) == null => true
object.nothing == null => true
object.name == null => false
[1, 2] == [1, 2] => true
[1, 2] == [2, 1] => false
[1, 2] == [1] => false
dyn([1, 2]) == [1.0, 2.0] => true
{'a': [1]} == {'a': [1]} => true
{'a': 1} == {'b': 1} => false
{'a': 1} == {'a': 1, 'b': 2} => false
dyn({1: 1}) == {1u: 1} => true
object.list == [1, 2, 3] => true
object.containers[0] == {'name': 'a', 'image': 'x:1'} => true
object.containers[0] == object.containers[1] => false
object == object => true
b'a' == b'a' => true
b'a' == b'b' => false
duration('60s') == duration('1m') => true
timestamp('2024-01-01T01:00:00+01:00') == timestamp('2024-01-01T00:00:00Z') => true
type(1) == int => true
type(1) != uint => true
optional.of(1) == optional.of(1) => true
optional.of(1) == optional.of(2) => false
optional.none() == optional.of(1) => false
optional.none() == optional.none() => true
dyn(1) in [1.0] => true
'2' in object.mixed => false
[2] in object.mixed => true
null in object.mixed => true
1 in dyn(1) =>! no such overload
`)
})

test('comprehension macros', () => {
  checkExpressions(`
[1, 2, 3].all(x, x > 0) => true
[1, 2, 3].all(x, x > 1) => false
[].all(x, x > 1) => true
[1, 0].all(x, 1 / x > 5) => false
[0, 1].all(x, 1 / x > 5) => false
[1, 0].all(x, 1 / x > 0) =>! division by zero
[1, 2].exists(x, x == 2) => true
[1, 2].exists(x, x == 3) => false
[0, 1].exists(x, 1 / x == 1) => true
[0, 2].exists(x, 1 / x == 1) =>! division by zero
[1, 2, 2].exists_one(x, x == 1) => true
[1, 2, 2].exists_one(x, x == 2) => false
[1, 2, 2].existsOne(x, x == 1) => true
[0, 1].exists_one(x, 1 / x == 1) =>! division by zero
[1, 2].map(x, x * 2) => [2, 4]
[1, 2, 3].map(x, x > 1, x * 2) => [4, 6]
[1, 2, 3].filter(x, x > 1) => [2, 3]
[1, 2].map(x, [3, 4].map(y, x * y)) => [[3, 4], [6, 8]]
[1, 2].map(x, [x].map(x, x + 1)[0]) => [2, 3]
{'a': 1, 'b': 2}.map(k, k) => ['a', 'b']
{'a': 1, 'b': 2}.exists(k, k == 'b') => true
{'a': 1}.filter(k, k == 'a') => ['a']
object.containers.map(c, c.name) => ['a', 'b']
object.containers.filter(c, has(c.port)).size() => 1
object.containers.all(c, c.image.contains(':')) => true
object.labels.all(k, k != '') => true
object.name.all(c, true) =>! no such overload
object.mixed.all(x, x > 0) =>! no such overload
[1, 2].all(i, v, i < v) => true
[1, 2].exists(i, v, i == 1 && v == 2) => true
[5, 6].existsOne(i, v, v > 5) => true
[5, 6].exists_one(i, v, v > 4) => false
{'a': 1}.all(k, v, k == 'a' && v == 1) => true
[4, 5].transformList(i, v, i * v) => [0, 5]
[4, 5].transformList(i, v, i > 0, v) => [5]
{'a': 1}.transformList(k, v, k) => ['a']
{'a': 1, 'b': 2}.transformMap(k, v, v * 2) => {'a': 2, 'b': 4}
{'a': 1, 'b': 2}.transformMap(k, v, v > 1, v) => {'b': 2}
['x', 'y'].transformMap(i, v, v) => {0: 'x', 1: 'y'}
{'a': 1, 'b': 2}.transformMapEntry(k, v, {v: k}) => {1: 'a', 2: 'b'}
{'a': 1, 'b': 2}.transformMapEntry(k, v, v > 1, {v: k}) => {2: 'b'}
{'a': 1, 'b': 1}.transformMapEntry(k, v, {v: k}) =>! insert failed: key 1 already exists
cel.bind(x, 2, x * x) => 4
cel.bind(x, 2, cel.bind(y, x + 1, x * y)) => 6
cel.bind(x, [1, 2], x.map(y, y + x.size())) => [3, 4]
cel.bind(object, 1, object) + cel.bind(object, 2, object) => 3
[1].map(object, object) => [1]
[{'name': 'local'}].map(deep, deep.name) => ['local']
`)
})

test('optional values', () => {
  checkExpressions(`
object.?name => optional.of(dyn('web'))
object.?nope => optional.none()
object.?nope.deeper => optional.none()
object.?labels.app => optional.of(dyn('web'))
object.?labels.?nope.orValue('none') => 'none'
has(object.?labels.app) => true
has(object.?labels.nope) => false
has(object.?nope.app) => false
object.list[?0] => optional.of(dyn(1))
object.list[?9] => optional.none()
object.labels[?'app'].value() => 'web'
optional.of([1, 2])[1] => optional.of(2)
optional.of([1, 2])[?5] => optional.none()
optional.of({'a': 1})['a'] => optional.of(1)
optional.of({'a': 1})[?'b'] => optional.none()
optional.of(1).hasValue() => true
optional.none().hasValue() => false
optional.none().value() =>! optional.none() dereference
optional.of(1).or(optional.of(1 / 0)) => optional.of(1)
optional.none().or(optional.of(2)) => optional.of(2)
optional.of(1).orValue(1 / 0) => 1
optional.none().orValue(3) => 3
optional.ofNonZeroValue(0) => optional.none()
optional.ofNonZeroValue('') => optional.none()
optional.ofNonZeroValue([]) => optional.none()
optional.ofNonZeroValue({}) => optional.none()
optional.ofNonZeroValue(null) => optional.none()
optional.ofNonZeroValue(0u) => optional.none()
optional.ofNonZeroValue(b'') => optional.none()
optional.ofNonZeroValue(duration('0s')) => optional.none()
optional.ofNonZeroValue(1) => optional.of(1)
optional.of(2).optMap(x, x * 2) => optional.of(4)
optional.none().optMap(x, x * 2) => optional.none()
optional.of(2).optFlatMap(x, optional.of(x + 1)) => optional.of(3)
optional.of(2).optFlatMap(x, optional.none()) => optional.none()
object.?list.optMap(l, l.size()).orValue(0) => 3
optional.of(1).optMap(x, optional.of(x).optMap(y, x + y)) => optional.of(optional.of(2))
[1, ?optional.of(2), ?optional.none()] => [1, 2]
{'a': 1, ?'b': optional.none(), ?'c': optional.of(3)} => {'a': 1, 'c': 3}
[?object.?nope, ?object.?replicas] => [dyn(3)]
[?dyn(1)] =>! no such overload
optional.unwrap([optional.of(1), optional.none()]) => [1]
[optional.of(1), optional.none()].unwrapOpt() => [1]
[1, 2].first() => optional.of(1)
[1, 2].last() => optional.of(2)
[].first() => optional.none()
{'a': optional.none()}.a.hasValue() => false
has({'a': optional.none()}.a) => true
type(optional.none()) == optional_type => true
`)
})

test('the cost of an expression is deterministic and equals that of Kubernetes', () => {
  const costs: readonly (readonly [string, number])[] = [
    ['1', 0],
    ['number', 1],
    ['object.name', 2],
    ['has(object.name)', 1],
    ['1 + 2', 1],
    ['[1, 2, 3]', 0],
    ['[number]', 11],
    ['{"a": number}', 31],
    ['"abc" + "def"', 1],
    ['object.name == "web"', 3],
    ['number == 7 ? 1 : 2', 2],
    ['true && flag', 1],
    ['number in [1, 2, 3, 4]', 5],
    ['[1, 2].all(x, x > 0)', 1 + 2 * (3 + 2)],
    ['[1, 2].exists(x, x > 5)', 1 + 2 * (4 + 2)],
    ['[1, 2].map(x, x)', 1 + 2 * (12 + 1)],
    ['[1, 2].filter(x, x > 1)', 1 + (1 + 2) + (13 + 2)],
    ['"abcdefghijklmnopqrstuvwxyz".contains("xyz")', 3],
    ['"abcdefghijklmnopqrstuvwxyz".startsWith("xyz")', 3],
    ['"abcdefghijklmnopqrstuvwxyz".matches("^[a-z]+$")', 6],
  ]
  for (const [expression, cost] of costs) {
    const budget = new Budget(expressionCostMax)
    compile(expression, testEnvironment).evaluate(testVariables, budget)
    assert.equal(budget.spent, cost, expression)
  }
})

test('expressions with one budget share its limit', () => {
  const program = compile('[1, 2, 3].all(x, x > 0)', testEnvironment)
  const shared = new Budget(40)
  program.evaluate({}, new Budget(expressionCostMax, shared))
  program.evaluate({}, new Budget(expressionCostMax, shared))
  assert.equal(shared.spent, 32)
  const last = new Budget(expressionCostMax, shared)
  assert.throws(() => program.evaluate({}, last), {
    name: 'EvaluationError',
    reason: 'cost',
    message: 'operation cancelled: actual cost limit exceeded',
  })
  assert.ok(shared.isExceeded && !last.isExceeded)
})

const count = Array.from({ length: 20_000 }, (_, index) => index)
const huge = fromJson(
  {
    list: count,
    text: 'a'.repeat(1_000_000),
    wide: '\u0101'.repeat(1_000_000),
    map: Object.fromEntries(count.map(index => [`key-${index}`, {}])),
  },
  dynType,
)
const nested = fromJson(
  Array.from({ length: 100 }, () => [Array.from({ length: 1_000 }, () => 'x')]),
  dynType,
)

test('expensive expressions exceed the cost budget', () => {
  const environment = new Environment({
    variables: { huge: dynType, nested: dynType },
    libraries: [bindingsLibrary],
  })
  const hostile = [
    'huge.list.all(a, huge.list.all(b, huge.list.all(c, a + b + c >= 0)))',
    'huge.list.all(a, a in huge.list)',
    'huge.list.all(a, huge.text.contains("b" + huge.text))',
    'huge.list.all(a, huge.text == huge.text)',
    'huge.list.all(a, nested == nested)',
    'huge.list.all(a, nested in [nested])',
    'huge.list.map(a, huge.text + huge.text)',
    'huge.list.all(a, !huge.text.matches("(a|b)*c"))',
    'huge.text.replace("a", huge.text)',
    'huge.list.all(a, huge.wide.size() > 0)',
    'huge.list.all(a, huge.wide.charAt(a) != "")',
    'huge.list.all(a, huge.list.all(b, huge.map.size() > 0))',
    'huge.list.all(a, !(huge.wide in huge.map))',
    'huge.list.all(a, !(huge.wide in [huge.wide + "x", "y" + huge.wide]))',
    'huge.text.indexOf("b" + huge.text.substring(500000)) == 0',
    'huge.text.lastIndexOf("b" + huge.text.substring(500000)) == 0',
    'huge.text.replace("b" + huge.text.substring(500000), huge.wide) == ""',
    'huge.text.split("b" + huge.text.substring(500000)) == []',
    'huge.list.all(a, huge.list.all(b, timestamp(a).getHours("Europe/Berlin") >= 0))',
    'huge.text.replace("", huge.text)',
    'huge.list.map(a, huge.text).join(huge.text)',
    'huge.list.exists(a, "%s".format([huge.list]) == "")',
    'huge.list.all(a, huge.list.all(b, 1 / 0 > 0 || false))',
    `cel.bind(a, [1], ${doubling(50, 'a + a')}`,
    `cel.bind(a, "x", ${doubling(50, 'a + a')}`,
    `cel.bind(a, b"x", ${doubling(50, 'a + a')}`,
    `cel.bind(a, "x", ${doubling(50, '[a, a].join(a)')}`,
    `cel.bind(a, "x", ${doubling(50, '"%s%s".format([a, a])')}`,
  ]
  for (const expression of hostile) {
    const program = compile(expression, environment)
    const budget = new Budget(expressionCostMax / 5)
    assert.throws(() => program.evaluate({ huge, nested }, budget), { reason: 'cost' }, expression)
  }
})

/** Binds `a` to twice itself, `times` times. */
function doubling(times: number, twice: string): string {
  return `${`cel.bind(a, ${twice}, `.repeat(times)}a${')'.repeat(times + 1)}`
}

test('equality of deeply nested lists', () => {
  let deep: unknown = 1
  for (let level = 0; level < 100_000; level++) deep = [deep]
  const program = compile('object == object && object in [object]', testEnvironment)
  assert.equal(program.evaluate({ object: fromJson(deep, dynType) }, new Budget(expressionCostMax)), true)
})

test('property: every expression ends within its budget', () => {
  const leaf = fc.constantFrom(
    '1',
    '0',
    '2u',
    '1.5',
    '"a"',
    'object',
    'object.list',
    'names',
    'limits',
    'x',
    'null',
  )
  const { expression } = fc.letrec<{ expression: string }>(tie => ({
    expression: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      leaf,
      fc.tuple(tie('expression'), tie('expression')).map(([a, b]) => `dyn(${a}) + dyn(${b})`),
      fc.tuple(tie('expression'), tie('expression')).map(([a, b]) => `dyn(${a}) == dyn(${b})`),
      fc.tuple(tie('expression'), tie('expression')).map(([a, b]) => `dyn(${a}).map(x, ${b})`),
      fc.tuple(tie('expression'), tie('expression')).map(([a, b]) => `dyn(${a}).filter(x, dyn(${b}))`),
      fc.tuple(tie('expression'), tie('expression')).map(([a, b]) => `cel.bind(x, ${a}, ${b})`),
      fc.tuple(tie('expression'), tie('expression')).map(([a, b]) => `dyn(${a})[dyn(${b})]`),
      fc.tuple(tie('expression'), tie('expression')).map(([a, b]) => `{dyn(${a}): dyn(${b})}`),
      tie('expression').map(a => `"%s".format([${a}])`),
      tie('expression').map(a => `[dyn(${a}), dyn(${a})]`),
    ),
  }))
  fc.assert(
    fc.property(expression, text => {
      const whole = `[1].map(x, ${text})`
      const [first, second] = [costOf(whole), costOf(whole)]
      assert.equal(first, second)
    }),
    { numRuns: 300 },
  )
})

/** The cost of an expression, whether it succeeds or fails; undefined if it does not compile. */
function costOf(expression: string): number | undefined {
  const budget = new Budget(2_000)
  try {
    compile(expression, testEnvironment).evaluate(testVariables, budget)
  } catch (error) {
    if (error instanceof CelError) return undefined
    assert.ok(error instanceof EvaluationError, String(error))
  }
  return budget.spent
}
