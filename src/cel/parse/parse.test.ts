import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { CelError } from '../cel-error.ts'
import { checkExpressions, testEnvironment } from '../test-expressions.ts'
import { compile } from '../cel.ts'
import { Budget } from '../cost.ts'

test('literals of all types', () => {
  checkExpressions(
    String.raw`
0x10 => 16
-0x10 => -16
007 => 7
9223372036854775807 => 9223372036854775807
-9223372036854775808 => int('-9223372036854775808')
9223372036854775808 =>? invalid int literal
--9223372036854775808 =>! integer overflow
18446744073709551615u => uint('18446744073709551615')
18446744073709551616u =>? invalid uint literal
0xFFu => 255u
1.5 => double('1.5')
.5 => 0.5
1e3 => 1000.0
1.25E-2 => 0.0125
1e999 =>? invalid double literal
-1.5 => 0.0 - 1.5
1. =>? Syntax error: mismatched input '<EOF>' expecting IDENTIFIER
true => !false
null => object.nothing
'a' => "a"
'it"s' => "it\"s"
'''a'b''c''' => "a'b''c"
"""a"b""" => 'a"b'
r'a\nb' => 'a\\nb'
R"\d" => '\\d'
'\a\b\f\n\r\t\v\\\?\'\"` +
      '\\`' +
      String.raw`' => '\x07\x08\x0c\x0a\x0d\x09\x0b\x5c?\x27\x22\x60'
'\x41\X42\103' => 'ABC'
'\u00e9\U0001F600' => 'é😀'
'\ud800' =>? invalid string literal
'\U00110000' =>? invalid string literal
'\q' =>? Syntax error: token recognition error at: ''\q'
'\400' =>? Syntax error: token recognition error at: ''\4'
b'abc' => bytes('abc')
b'\xff\000' == b'\377\x00' => true
size(b'\xff') => 1
size(b'é') => 2
B"a" => b'a'
br'\n' => b'\\n'
b'''a''' => b'a'
b'\u00e9' =>? invalid bytes literal
'a =>? Syntax error: token recognition error at: ''a'
`,
  )
})

test('multi-line strings', () => {
  const program = compile('\'\'\'a\r\nb\'\'\' + """c\nd"""', testEnvironment)
  assert.equal(program.evaluate({}, new Budget(Infinity)), 'a\nbc\nd')
})

test('operators and their precedence', () => {
  checkExpressions(`
1 + 2 * 3 => 7
(1 + 2) * 3 => 9
10 - 4 - 3 => 3
2 * 7 % 4 => 2
100 / 10 / 5 => 2
1 + 1 == 2 && 2 > 1 => true
true || false && false => true
!true || true => true
!!true => true
!!!true => false
- - 1 => 1
1 - -1 => 2
1 -1 => 0
-number => -7
--number => 7
true ? 1 : 2 => 1
false ? 1 : true ? 2 : 3 => 2
1 < 2 == true => true
1 in [1] == true => true
1 + =>? Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', ...
1 2 =>? Syntax error: extraneous input '2' expecting <EOF>
1 2 3 =>? Syntax error: mismatched input '2' expecting <EOF>
(1 =>? Syntax error: mismatched input '<EOF>' expecting ')'
[1, 2 =>? Syntax error: mismatched input '<EOF>' expecting {']', ','}
a ? b =>? Syntax error: mismatched input '<EOF>' expecting ':'
-!true =>? Syntax error: extraneous input '!' expecting {'[', '{', '(', '.', ...
1 # 2 =>? Syntax error: token recognition error at: '#'
1 = 2 =>? Syntax error: token recognition error at: '='
`)
})

test('names, fields, lists, maps and comments', () => {
  checkExpressions(`
object.name => 'web'
.number => 7
deep.name => 'below'
.deep.name => 'below'
object.labels.app => 'web'
object.labels.\`a.b/c\` => 'x'
object.labels['a.b/c'] => 'x'
object.list[0] => 1
[1, 2,] => [1, 2]
[] == [] => true
{} == {} => true
{'a': 1, 'b': 2,}.size() => 2
[[1], [2]][1][0] => 2
{'a': {'b': 3}}.a.b => 3
size([1, 2, ]) => 2
size(1,) =>? Syntax error: mismatched input ')' expecting {'[', '{', '(', '.', ...
1 // a comment => 1
for =>? reserved identifier: for
namespace + 1 =>? reserved identifier: namespace
if(true) =>? reserved identifier: if
object.in =>? Syntax error: mismatched input 'in' expecting IDENTIFIER
object. =>? Syntax error: mismatched input '<EOF>' expecting IDENTIFIER
\`a\` =>? Syntax error: mismatched input 'a' expecting {'[', '{', '(', '.', ...
`)
})

test('macros reject invalid arguments', () => {
  checkExpressions(`
has(object) =>? invalid argument to has() macro
has(object.?name) =>? invalid argument to has() macro
names.all(1, true) =>? argument must be a simple name
names.all(.n, true) =>? argument must be a simple name
names.map(n.a, true) =>? argument is not an identifier
names.filter('a', true) =>? argument is not an identifier
names.exists(__result__, true) =>? iteration variable overwrites accumulator variable
names.all(i, i, true) =>? duplicate variable name: i
cel.bind(1, 2, 3) =>? cel.bind() variable names must be simple identifiers
optional.of(1).optMap(1, 2) =>? optMap() variable name must be a simple identifier
optional.of(1).optFlatMap(a.b, 2) =>? optFlatMap() variable name must be a simple identifier
names.all(n) =>? undeclared reference to 'n' (in container '')
`)
})

test('a syntax error lists what was expected', () => {
  const starts = `'[', '{', '(', '.', '-', '!', 'true', 'false', 'null'`
  const expected = `{${starts}, NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}`
  assert.throws(() => compile('1 +', testEnvironment), {
    name: 'CelError',
    message: `ERROR: <input>:1:4: Syntax error: mismatched input '<EOF>' expecting ${expected}\n | 1 +\n | ...^`,
  })
})

test('nesting depth and expression size are limited', () => {
  const tooDeep = /expression recursion limit exceeded: 250/
  const refused: readonly (readonly [string, RegExp])[] = [
    [`${'('.repeat(100_000)}1`, /expression code point size exceeds limit: size: 100001, limit 100000/],
    [`${'('.repeat(20_000)}1${')'.repeat(20_000)}`, tooDeep],
    ['['.repeat(20_000), tooDeep],
    ['{1:'.repeat(30_000), tooDeep],
    [`1${'+1'.repeat(40_000)}`, tooDeep],
    [`object${'.a'.repeat(40_000)}`, tooDeep],
    [`object${'[0]'.repeat(30_000)}`, tooDeep],
    [`${'true?true:'.repeat(9_000)}true`, tooDeep],
    ['size('.repeat(15_000), tooDeep],
    ['[1].map(x,'.repeat(9_000), tooDeep],
    // Within the limits of nesting and of chain length, but the tree is too deep.
    [`${'('.repeat(200)}object${`${'.a'.repeat(200)})`.repeat(200)}`, tooDeep],
  ]
  for (const [expression, message] of refused) {
    assert.throws(() => compile(expression, testEnvironment), message, expression.slice(0, 20))
  }
  for (const accepted of [
    `${'('.repeat(240)}1${')'.repeat(240)}`,
    `true${' && true'.repeat(10_000)}`,
    `[${'1,'.repeat(49_000)}]`,
    `${'-'.repeat(50_000)}1`,
    `1${'+1'.repeat(240)}`,
    `${'[1].map(x, '.repeat(240)}x${')'.repeat(240)}`,
    `${'-(number - '.repeat(160)}1${')'.repeat(160)}`,
  ]) {
    compile(accepted, testEnvironment).evaluate({ number: 1n }, new Budget(Infinity))
  }
})

test('property: any text parses or throws CelError', () => {
  const words =
    'a object . ? [ ] ( ) { } : , 1 1u 1.5 "s" b\'x\' && || ! - + * in == < has( .all( .map(x, true null `f`'
  const pieces = fc.constantFrom(' ', '\\', ...words.split(' '))
  const text = fc.oneof(
    fc.string(),
    fc.array(fc.nat(0xffff)).map(units => String.fromCharCode(...units)),
    fc.array(pieces, { maxLength: 15 }).map(all => all.join('')),
  )
  fc.assert(
    fc.property(text, expression => {
      try {
        compile(expression, testEnvironment)
      } catch (error) {
        assert.ok(error instanceof CelError, `${String(error)} for ${expression}`)
      }
    }),
    { numRuns: 1_000 },
  )
})
