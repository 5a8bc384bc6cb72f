import { test } from 'node:test'
import { checkExpressions } from '../test-expressions.ts'

test('string functions: search', () => {
  checkExpressions(String.raw`
'hello'.contains('ell') => true
'hello'.contains('') => true
'hello'.contains('x') => false
'hello'.startsWith('he') => true
'hello'.endsWith('lo') => true
'hello'.endsWith('he') => false
'hello'.matches('^h.*o$') => true
'hello'.matches('l+') => true
'hello'.matches('^l+$') => false
matches('a1', r'[a-z]\d') => true
'é😀'.matches('^..$') => true
object.name.matches(object.name + '(') =>! error parsing regexp: missing closing ): ${'`web(`'}
object.replicas.contains('3') =>! no such overload: contains(int, string)
'tacocat'.indexOf('ac') => 1
'tacocat'.indexOf('x') => -1
'tacocat'.indexOf('') => 0
'tacocat'.indexOf('a', 3) => 5
'tacocat'.indexOf('a', 20) => -1
'tacocat'.indexOf('', 20) => 7
'tacocat'.indexOf('a', -1) =>! index out of range: -1
'ta©o©αT'.indexOf('©', 3) => 4
'😀a😀b'.indexOf('b') => 3
'😀a😀b'.indexOf('😀', 1) => 2
'tacocat'.lastIndexOf('at') => 5
'tacocat'.lastIndexOf('x') => -1
'tacocat'.lastIndexOf('') => 7
'tacocat'.lastIndexOf('a', 3) => 1
'tacocat'.lastIndexOf('a', 20) => -1
'tacocat'.lastIndexOf('', 3) => 3
'tacocat'.lastIndexOf('a', -1) =>! index out of range: -1
'😀a😀b'.lastIndexOf('😀') => 2
`)
})

test('string functions: charAt, substring, split, join and replace', () => {
  checkExpressions(String.raw`
'tacocat'.charAt(3) => 'o'
'tacocat'.charAt(7) => ''
'tacocat'.charAt(8) =>! index out of range: 8
'tacocat'.charAt(-1) =>! index out of range: -1
'a😀b'.charAt(1) => '😀'
'tacocat'.substring(4) => 'cat'
'tacocat'.substring(7) => ''
'tacocat'.substring(0, 4) => 'taco'
'tacocat'.substring(4, 4) => ''
'a😀b'.substring(1, 2) => '😀'
'tacocat'.substring(40) =>! index out of range: 40
'tacocat'.substring(1, 50) =>! index out of range: 50
'tacocat'.substring(-1, 2) =>! index out of range: -1
'tacocat'.substring(3, 2) =>! invalid substring range. start: 3, end: 2
'a,b,c'.split(',') => ['a', 'b', 'c']
'a,b,c'.split(',', 2) => ['a', 'b,c']
'a,b,c'.split(',', 0) == [] => true
'a,b,c'.split(',', 1) => ['a,b,c']
'a,b,c'.split(',', -1) => ['a', 'b', 'c']
'a,b,c'.split(',', 9) => ['a', 'b', 'c']
'a😀b'.split('') => ['a', '😀', 'b']
'abc'.split('', 2) => ['a', 'bc']
''.split(',') => ['']
['a', 'b'].join() => 'ab'
['a', 'b'].join('-') => 'a-b'
[].join('-') => ''
object.mixed.join('-') =>! join: invalid input: int
names.join(', ') => 'a, b, c'
'hello hello'.replace('he', 'we') => 'wello wello'
'hello hello'.replace('he', 'we', 1) => 'wello hello'
'hello hello'.replace('he', 'we', 0) => 'hello hello'
'hello hello'.replace('he', 'we', -1) => 'wello wello'
'hello hello'.replace('', '_') => '_h_e_l_l_o_ _h_e_l_l_o_'
'abc'.replace('', '_', 2) => '_a_bc'
'aaa'.replace('a', '$&') => '$&$&$&'
'hello'.replace('l', '') => 'heo'
`)
})

test('string functions: case, trim, quote and reverse', () => {
  checkExpressions(String.raw`
'TacoCÆt'.lowerAscii() => 'tacocÆt'
'tacoCæt'.upperAscii() => 'TACOCæT'
'  \t\n a b \u0085\u3000 '.trim() => 'a b'
'\ufeffa'.trim() == 'a' => false
'a"b\\c\n\x07'.quote() == '"a\\"b\\\\c\\n\\a"' => true
strings.quote('é') => '"é"'
'a😀b'.reverse() => 'b😀a'
`)
})

test('string functions: format', () => {
  checkExpressions(String.raw`
'%s has %d'.format(['a', 1]) => 'a has 1'
'%s'.format([{'a': 1, 'b': ['c', 2]}]) => '{"a":1, "b":["c", 2]}'
'%d'.format([[1, 'a'].size()]) => '2'
'%s'.format(['a']) == 'a' && [1, 'a'].size() == 2 =>? expected type 'int' but found 'string'
'no clause'.format([]) => 'no clause'
'100%%'.format([]) => '100%'
'%s is %s'.format(['a', 'b']) => 'a is b'
'%d and %d'.format([dyn(1), dyn(2u)]) => '1 and 2'
'%s'.format([1]) => '1'
'%s'.format([2.71]) => '2.71'
'%s'.format([0.000000002]) => '2e-09'
'%s'.format([true]) => 'true'
'%s'.format([null]) => 'null'
'%s'.format([b'xyz']) => 'xyz'
'%s'.format([type('')]) => 'string'
'%s'.format([timestamp('2023-02-03T23:31:20+00:00')]) => '2023-02-03T23:31:20Z'
'%s'.format([duration('1h45m47s')]) => '6347s'
'%s'.format([[dyn('abc'), dyn(3.14), dyn(null), dyn([9, 8])]]) => '["abc", 3.140000, null, [9, 8]]'
'%s'.format([[timestamp(0)]]) => '[timestamp("1970-01-01T00:00:00Z")]'
'%s'.format([{'b': dyn(b'xyz'), 'a': dyn(duration('2h'))}]) => '{"a":duration("7200s"), "b":b"xyz"}'
'%s'.format([{true: double('NaN')}]) => '{true:"NaN"}'
'%.3f'.format([1.2345]) => '1.234'
'%f'.format([2.71828]) => '2.718280'
'%.0f'.format([1234567.0]) => '1,234,567'
'%.1f'.format([-1234.5]) => '-1,234.5'
'%f'.format(['NaN']) => 'NaN'
'%f'.format(['-Infinity']) => '-∞'
'%.2f'.format([1e22]) => '10,000,000,000,000,000,000,000.00'
'%e'.format([1052.032911275]) => '1.052033\u202f×\u202f10⁰³'
'%e'.format([0.00012]) => '1.200000\u202f×\u202f10⁻⁰⁴'
'%b %b %b'.format([dyn(5), dyn(-5), dyn(true)]) => '101 -101 1'
'%o'.format([11]) => '13'
'%x %X %x %X'.format([dyn(30), dyn(30u), dyn('Hi'), dyn(b'\xff')]) => '1e 1E 4869 FF'
'%x'.format([-30]) => '-1e'
'%s %s'.format(['a']) =>! index 1 out of range
'%'.format(['a']) =>! unexpected end of string
'%d'.format(['a']) =>! error during formatting: decimal clause can only be used on integers, was given string
'%f'.format([1]) =>! error during formatting: fixed-point clause can only be used on doubles, was given int
'%e'.format([1]) =>! error during formatting: scientific clause can only be used on doubles, was given int
'%b'.format(['a']) =>! error during formatting: only integers and bools can be formatted as binary, was...
'%o'.format(['a']) =>! error during formatting: octal clause can only be used on integers, was given string
'%x'.format([1.5]) =>! error during formatting: only integers, byte buffers, and strings can...
'%s'.format([optional.none()]) =>! error during formatting: string clause can only be used on strings, bools,...
'%q'.format(['a']) =>! could not parse formatting clause: unrecognized formatting clause "q"
'%.9999f'.format([1.0]) =>! could not parse formatting clause: error while parsing precision: precision 9999...
'%.2'.format([1.0]) =>! could not parse formatting clause: error while parsing precision: could not find...
`)
})
