import { test } from 'node:test'
import { checkExpressions } from '../test-expressions.ts'

test('integer arithmetic is exact and overflows are faults', () => {
  checkExpressions(`
9007199254740993 + 1 => 9007199254740994
9223372036854775807 + 1 =>! integer overflow
-9223372036854775808 - 1 =>! integer overflow
-(-9223372036854775808) =>! integer overflow
9223372036854775807 * 2 =>! integer overflow
3037000500 * 3037000500 =>! integer overflow
-9223372036854775808 / -1 =>! integer overflow
-9223372036854775808 % -1 =>! integer overflow
7 / 2 => 3
-7 / 2 => -3
7 % 3 => 1
-7 % 3 => -1
1 / 0 =>! division by zero
1 % 0 =>! modulus by zero
1u - 2u =>! unsigned integer overflow
18446744073709551615u + 1u =>! unsigned integer overflow
18446744073709551615u * 2u =>! unsigned integer overflow
7u / 2u => 3u
7u % 2u => 1u
7u / 0u =>! division by zero
7u % 0u =>! modulus by zero
`)
})

test('arithmetic of doubles, strings, lists and bytes', () => {
  checkExpressions(`
1.5 + 2.5 => 4.0
1.5 - 2.5 => -1.0
1.5 * 2.0 => 3.0
1.0 / 0.0 => double('Infinity')
-1.0 / 0.0 => double('-inf')
0.0 / 0.0 => double('NaN')
-(1.5) => -1.5
'a' + 'b' => 'ab'
b'a' + b'b' => b'ab'
[1] + [2, 3] => [1, 2, 3]
[] + [1] => [1]
object.name + '-' + 'x' => 'web-x'
object.replicas + 1 => 4
object.name + 1 =>! no such overload
object.list + [4] => [1, 2, 3, 4]
object.replicas * object.replicas => 9
object.ratio * 2.0 => 1.0
object.replicas * 2.0 =>! no such overload
`)
})

test('comparison operators', () => {
  checkExpressions(`
1 < 2 => true
2 <= 2 => true
1 > 2 => false
2 >= 2 => true
1 < 2u => true
1u < 2.5 => true
-1 < 0u => true
2.5 > 2 => true
9007199254740993 > 9007199254740992.0 => true
18446744073709551615u > 9223372036854775807 => true
1 < double('NaN') =>! NaN values cannot be ordered
double('NaN') >= 1.0 =>! NaN values cannot be ordered
1.0 < double('inf') => true
false < true => true
'a' < 'b' => true
'a' < 'aa' => true
'' < 'a' => true
'z' < 'é' => true
'\uffee' < '😀' => true
b'a' < b'b' => true
duration('1s') < duration('1m') => true
timestamp('2024-01-01T00:00:00Z') < timestamp('2024-01-01T00:00:01Z') => true
object.name < 'x' => true
object.name < 1 =>! no such overload
object.replicas < 3.5 => true
`)
})

test('size counts characters, bytes and elements', () => {
  checkExpressions(`
size('') => 0
size('é😀') => 2
'abc'.size() => 3
b'é'.size() => 2
[1, 2].size() => 2
{'a': 1}.size() => 1
size(object.labels) => 2
size(object.replicas) =>! no such overload: size(int)
`)
})

test('type conversions', () => {
  checkExpressions(`
int('42') => 42
int('+42') => 42
int('-9223372036854775808') => -9223372036854775808
int('9223372036854775808') =>! type conversion error from 'string' to 'int'
int('4.2') =>! type conversion error from 'string' to 'int'
int('') =>! type conversion error from 'string' to 'int'
int(1.9) => 1
int(-1.9) => -1
int(9.3e18) =>! integer overflow
int(double('NaN')) =>! integer overflow
int(5u) => 5
int(18446744073709551615u) =>! integer overflow
int(timestamp('1970-01-01T00:00:10.5Z')) => 10
int(timestamp('1969-12-31T23:59:59.5Z')) => -1
int(duration('2s')) => 2000000000
uint('5') => 5u
uint('-5') =>! type conversion error from 'string' to 'uint'
uint('18446744073709551616') =>! type conversion error from 'string' to 'uint'
uint(3.9) => 3u
uint(-1) =>! unsigned integer overflow
uint(-0.5) =>! unsigned integer overflow
uint(2e19) =>! unsigned integer overflow
double(3) => 3.0
double(3u) => 3.0
double('1.5e2') => 150.0
double('x') =>! type conversion error from 'string' to 'double'
double('1e999') =>! type conversion error from 'string' to 'double'
double('5.') => 5.0
double('.5e-1') => 0.05
double('.') =>! type conversion error from 'string' to 'double'
bool('true') => true
bool('T') => true
bool('0') => false
bool('yes') =>! type conversion error from 'string' to 'bool'
string(42) => '42'
string(-42) => '-42'
string(5u) => '5'
string(true) => 'true'
string(1.0) => '1'
string(1.5) => '1.5'
string(1e6) => '1e+06'
string(123456789.0) => '1.23456789e+08'
string(100000.0) => '100000'
string(0.0001) => '0.0001'
string(0.00001) => '1e-05'
string(double('inf')) => '+Inf'
string(double('-inf')) => '-Inf'
string(double('nan')) => 'NaN'
string(b'abc') => 'abc'
string(b'\\xff') =>! invalid UTF-8 in bytes, cannot convert to string
string(duration('90m')) => '5400s'
string(duration('1ns')) => '0.000000001s'
string(duration('-1.5s')) => '-1.5s'
string(timestamp('2024-02-29T12:30:00.120Z')) => '2024-02-29T12:30:00.12Z'
string(timestamp('2024-02-29T12:30:00+01:30')) => '2024-02-29T11:00:00Z'
string('a') => 'a'
bytes('é') => b'\\xc3\\xa9'
bytes(b'a') => b'a'
type(1) => int
type('') => string
type(1u) == uint && type(1.0) == double && type(true) == bool && type(b'') == bytes => true
type([]) == list && type({}) == map && type(null) == null_type => true
type(timestamp(0)) == google.protobuf.Timestamp => true
type(duration('1s')) == google.protobuf.Duration => true
type(int) == type => true
type(object.name) == string => true
string(type(1)) =>? found no matching overload for 'string' applied to '(type(int))'
dyn(1) + 1 => 2
timestamp(0) => timestamp('1970-01-01T00:00:00Z')
timestamp(253402300799) => timestamp('9999-12-31T23:59:59Z')
timestamp(253402300800) =>! timestamp overflow
timestamp(-62135596801) =>! timestamp overflow
duration(object.name) =>! type conversion error from 'string' to 'google.protobuf.Duration'
timestamp(object.name) =>! type conversion error from 'string' to 'google.protobuf.Timestamp'
`)
})

test('timestamps and durations', () => {
  checkExpressions(`
timestamp('2024-01-01T00:00:00Z') + duration('36h') => timestamp('2024-01-02T12:00:00Z')
duration('1h') + timestamp('2024-01-01T00:00:00Z') => timestamp('2024-01-01T01:00:00Z')
timestamp('2024-01-02T00:00:00Z') - duration('1s') => timestamp('2024-01-01T23:59:59Z')
timestamp('2024-01-02T00:00:00Z') - timestamp('2024-01-01T00:00:00Z') => duration('24h')
timestamp('9999-12-31T23:59:59Z') + duration('1s') =>! timestamp overflow
timestamp('0001-01-01T00:00:00Z') - duration('1ns') =>! timestamp overflow
timestamp('9999-01-01T00:00:00Z') - timestamp('0001-01-01T00:00:00Z') =>! integer overflow
duration('1h') + duration('30m') => duration('90m')
duration('1h') - duration('90m') => duration('-30m')
duration('2562047h') + duration('2562047h') =>! integer overflow
timestamp('2024-02-29T13:45:30.123Z').getFullYear() => 2024
timestamp('2024-02-29T13:45:30.123Z').getMonth() => 1
timestamp('2024-02-29T13:45:30.123Z').getDayOfMonth() => 28
timestamp('2024-02-29T13:45:30.123Z').getDate() => 29
timestamp('2024-02-29T13:45:30.123Z').getDayOfWeek() => 4
timestamp('2024-12-31T13:45:30.123Z').getDayOfYear() => 365
timestamp('2024-02-29T13:45:30.123Z').getHours() => 13
timestamp('2024-02-29T13:45:30.123Z').getMinutes() => 45
timestamp('2024-02-29T13:45:30.123Z').getSeconds() => 30
timestamp('2024-02-29T13:45:30.123Z').getMilliseconds() => 123
timestamp('1969-12-31T23:59:59.9999Z').getMilliseconds() => 999
timestamp('2024-07-01T23:30:00Z').getHours('Europe/Berlin') => 1
timestamp('2024-07-01T23:30:00Z').getDate('Europe/Berlin') => 2
timestamp('2024-01-01T00:30:00Z').getFullYear('America/New_York') => 2023
timestamp('2024-01-01T00:30:00Z').getDayOfYear('America/New_York') => 364
timestamp('2024-01-01T00:30:00Z').getMinutes('Asia/Kolkata') => 0
timestamp('2024-01-01T00:30:00Z').getHours('+05:30') => 6
timestamp('2024-01-01T00:30:00Z').getHours('-02:30') => 22
timestamp('2024-01-01T00:30:00Z').getHours('02:00') => 2
timestamp('2024-01-01T00:30:00Z').getHours('UTC') => 0
timestamp('2024-01-01T00:30:00Z').getHours('Mars/Olympus') =>! unknown time zone Mars/Olympus
timestamp('2024-01-01T00:30:00Z').getHours('+01:75') =>! timezone offset minutes out of range [0, 59]: +01:75
timestamp('2024-01-01T00:30:00Z').getHours('a:b') =>! invalid timezone offset: a:b
duration('3730s').getHours() => 1
duration('3730s').getMinutes() => 62
duration('3730s').getSeconds() => 3730
duration('1.5s').getMilliseconds() => 1500
duration('-90s').getMinutes() => -1
timestamp('2024-02-30T00:00:00Z') =>? invalid timestamp argument
timestamp('2024-02-29T24:00:00Z') =>? invalid timestamp argument
timestamp('0000-01-01T00:00:00Z') =>? invalid timestamp argument
`)
})
