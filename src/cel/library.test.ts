import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compile } from './cel.ts'
import { checkExpressions, testVariables } from './test-expressions.ts'
import { Budget } from './cost.ts'
import { Environment } from './environment.ts'
import { fromJson } from './json.ts'
import { kubernetesLibraries } from './library.ts'
import { quantityType, QuantityValue } from './quantity.ts'
import { semanticVersionType, SemanticVersionValue } from './semantic-version.ts'
import { dynType } from './type.ts'
import { parseQuantity } from '#/api/text/quantity.ts'
import { parseSemanticVersion } from '#/api/text/semantic-version.ts'

const environment = new Environment({
  variables: { object: dynType, hostile: dynType, amount: quantityType, version: semanticVersionType },
  libraries: kubernetesLibraries,
})
const variables = {
  object: testVariables['object'] ?? null,
  hostile: fromJson(
    { long: `${'a'.repeat(100_000)}!`, list: Array.from({ length: 2_000 }, (_, index) => index) },
    dynType,
  ),
  amount: new QuantityValue(parseQuantity('1500m')),
  version: new SemanticVersionValue(parseSemanticVersion('1.2.3')),
}

const check = (table: string): void => checkExpressions(table, { environment, variables })

test('list library: isSorted, sum, min, max and indexOf', () =>
  check(`
[1, 2, 3].isSorted() => true
['a', 'b', 'b', 'c'].isSorted() => true
[2.0, 1.0].isSorted() => false
[false, true].isSorted() => true
[b'a', b'\\xff'].isSorted() => true
[duration('1s'), duration('1m')].isSorted() => true
[timestamp('2024-01-01T00:00:00Z'), timestamp('2023-01-01T00:00:00Z')].isSorted() => false
['\\uffff', '\\U0001F600'].isSorted() => true
[1].isSorted() && [].isSorted() => true
object.mixed.isSorted() =>! no such overload
[[1]].isSorted() =>? found no matching overload for 'isSorted' applied to 'list(list(int)).()'
[1, 3].sum() => 4
[1.5, 3.0].sum() => 4.5
[1u, 3u].sum() => 4u
[duration('1m'), duration('1s')].sum() => duration('61s')
[].sum() => 0
[1.0].filter(x, x > 2.0).sum() => 0.0
[9223372036854775807, 1].sum() =>! integer overflow
object.list.sum() => 6
[1, 3].min() => 1
[1, 3].max() => 3
['b', 'a'].min() => 'a'
[].min() =>! min called on empty list
[].max() =>! max called on empty list
[1, 2, 2, 3].indexOf(2) => 1
['a', 'b', 'b', 'c'].lastIndexOf('b') => 2
[1.0].indexOf(1.1) => -1
[[1], [2]].indexOf([2]) => 1
[].indexOf('string') => -1
'abcb'.indexOf('b') => 1
[1, 2].includes(2) =>? undeclared reference to 'includes' (in container '')
`))

test('list library: slice, flatten, range, distinct and sort', () =>
  check(`
[1, 2, 3, 4].slice(1, 3) => [2, 3]
[1, 2].slice(0, 0) => []
[1, 2].slice(-1, 1) =>! cannot slice(-1, 1), negative indexes not supported
[1, 2].slice(2, 1) =>! cannot slice(2, 1), start index must be less than or equal to end index
[1, 2].slice(0, 3) =>! cannot slice(0, 3), list is length 2
[[2, 3], [], [4]].flatten() => [2, 3, 4]
[dyn([dyn(2), [dyn(3), [4]]])].flatten(2) => [dyn(2), 3, [4]]
[dyn([1])].flatten(0) => [dyn([1])]
[dyn(1)].flatten(-1) =>! level must be non-negative
lists.range(3) => [0, 1, 2]
lists.range(0) => []
lists.range(-1) =>! lists.range: size must be non-negative, got -1
lists.range(1000000000) =>! operation cancelled: actual cost limit exceeded
[5, 3, 1].reverse() => [1, 3, 5]
[1, 2, 2, 3, 3].distinct() => [1, 2, 3]
['b', 'c', 'a'].sort() => ['a', 'b', 'c']
[3, 20, 1].sort() => [1, 3, 20]
[].sort() => []
object.mixed.sort() =>! list elements must have the same type
[[1], [2]].sort() =>? found no matching overload for 'sort' applied to 'list(list(int)).()'
[3, 1, 2].sortBy(x, -x) => [3, 2, 1]
object.containers.sortBy(c, c.image).map(c, c.name) => ['a', 'b']
['bb', 'a', 'cc'].sortBy(s, s.size()) => ['a', 'bb', 'cc']
[1].sortBy(x.y, x) =>? argument is not an identifier
hostile.list.distinct().size() =>! operation cancelled: actual cost limit exceeded
`))

test('set library', () =>
  check(`
sets.contains([], []) => true
sets.contains([], [1]) => false
sets.contains([1, 2, 3, 4], [2, 3]) => true
sets.contains([dyn(1), 2.0, 3u], [dyn(1.0), 2u, 3]) => true
sets.equivalent([1], [1, 1]) => true
sets.equivalent([1, 2], [2]) => false
sets.intersects([1], []) => false
sets.intersects([1], [1, 2]) => true
sets.intersects([[1], [2, 3]], [[1, 2], [2, 3]]) => true
sets.contains(hostile.list, hostile.list) =>! operation cancelled: actual cost limit exceeded
`))

test('regular expression library', () =>
  check(`
'abc 123'.find('[0-9]+') => '123'
'abc 123'.find('xyz') => ''
'abc'.find('^b|c$') => 'c'
'123 abc 456'.findAll('[0-9]+') => ['123', '456']
'123 abc 456'.findAll('[0-9]+', 1) => ['123']
'123 abc 456'.findAll('[0-9]+', 0) => []
'123 abc 456'.findAll('[0-9]+', -1) => ['123', '456']
'123 abc 456'.findAll('xyz') => []
'abc'.find('a' + '(') =>! Illegal regex: error parsing regexp: missing closing ): \`a(\`
hostile.long.find('(a+)+$') => ''
`))

test('URL library', () =>
  check(`
isURL('https://user:pass@example.com:80/path?query=val#fragment') => true
isURL('/absolute-path') => true
isURL('https://a:b:c/') => false
isURL('../relative-path') => false
url('/path').getScheme() => ''
url('https://example.com:80/').getScheme() => 'https'
url('https://example.com:80/').getHost() => 'example.com:80'
url('https://[::1]:80/').getHost() => '[::1]:80'
url('https://[::1]:80/').getHostname() => '::1'
url('https://example.com:80/').getPort() => '80'
url('https://example.com/').getPort() => ''
url('https://example.com/path with spaces/').getEscapedPath() => '/path%20with%20spaces/'
url('https://example.com/path?k1=a&k2=b&k2=c').getQuery() => {'k1': ['a'], 'k2': ['b', 'c']}
url('https://example.com/path?').getQuery().size() => 0
url('https://a/b') == url('HTTPS://a/b') => true
url('https://a/b') == url('https://a/c') => false
url('a') =>! URL parse error during conversion from string: parse "a": invalid URI for request
`))

const cidrError = 'network address parse error during conversion from string'

test('IP and CIDR libraries', () =>
  check(`
isIP('127.0.0.1') && isIP('::1') => true
isIP('127.0.0.256') || isIP(':::1') || isIP('::ffff:1.2.3.4') || isIP('fe80::1%eth0') || isIP('01.2.3.4') => false
ip('10.0.0.1').family() => 4
ip('::1').family() => 6
string(ip('2001:DB8::0:1')) => '2001:db8::1'
ip('::1') == ip('0:0:0:0:0:0:0:1') => true
type(ip('::1')) == net.IP => true
ip.isCanonical('127.0.0.1') => true
ip.isCanonical('2001:DB8::ABCD') => false
ip.isCanonical('x') =>! IP Address "x" parse error during conversion from string: ParseAddr("x"): unable to parse IP
ip('::ffff:1.2.3.4') =>! IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed
ip('fe80::1%eth0') =>! IP address "fe80::1%eth0" with zone value is not allowed
ip('0.0.0.0').isUnspecified() && ip('::').isUnspecified() => true
ip('127.9.9.9').isLoopback() && ip('::1').isLoopback() && !ip('128.0.0.1').isLoopback() => true
ip('224.0.0.1').isLinkLocalMulticast() && ip('ff02::1').isLinkLocalMulticast() => true
ip('224.0.1.1').isLinkLocalMulticast() || ip('fd00::1').isLinkLocalMulticast() => false
ip('169.254.169.254').isLinkLocalUnicast() && ip('fe80::1').isLinkLocalUnicast() => true
ip('fd80::1').isLinkLocalUnicast() => false
ip('192.168.0.1').isGlobalUnicast() && ip('2001:db8::abcd').isGlobalUnicast() => true
ip('255.255.255.255').isGlobalUnicast() || ip('ff00::1').isGlobalUnicast() || ip('::').isGlobalUnicast() => false
isCIDR('192.168.0.0/16') && isCIDR('::1/128') && isCIDR('192.168.0.1/16') => true
isCIDR('192.168.0.0/33') || isCIDR('::1/129') || isCIDR('1.2.3.4') || isCIDR('::ffff:1.2.3.4/120') => false
cidr('192.168.0.0/24').containsIP(ip('192.168.0.1')) => true
cidr('192.168.0.0/24').containsIP('192.168.1.1') => false
cidr('192.168.0.0/24').containsIP('::1') => false
cidr('192.168.0.0/16').containsCIDR(cidr('192.168.10.0/24')) => true
cidr('192.168.1.0/24').containsCIDR('192.168.2.0/24') => false
cidr('192.168.0.0/24').containsCIDR('192.168.0.0/16') => false
cidr('192.168.0.1/24').ip() == ip('192.168.0.1') => true
cidr('192.168.0.1/24').masked() == cidr('192.168.0.0/24') => true
cidr('192.168.0.1/24') == cidr('192.168.0.0/24') => false
cidr('::1/128').prefixLength() => 128
string(cidr('192.168.0.1/24')) => '192.168.0.1/24'
type(cidr('::1/128')) == net.CIDR => true
cidr('::ffff:1.2.3.4/120') =>! ${cidrError}: IPv4-mapped IPv6 address "::ffff:1.2.3.4/120" is not allowed
cidr('1.2.3.4').ip() =>! ${cidrError}: ${cidrError}: netip.ParsePrefix("1.2.3.4"): no '/'
cidr('1.2.3.4/33').ip() =>! ${cidrError}: ${cidrError}: netip.ParsePrefix("1.2.3.4/33"): prefix length out of range
cidr('1.2.3.4/x').ip() =>! ${cidrError}: ${cidrError}: netip.ParsePrefix("1.2.3.4/x"): bad bits after slash: "x"
`))

test('quantity library: exact arithmetic', () =>
  check(`
isQuantity('1.3Gi') && isQuantity('20M') => true
isQuantity('200K') || isQuantity('Three') || isQuantity('Mi') => false
quantity('Mi') =>! quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'
quantity('50000000G').isInteger() => true
quantity('1500m').isInteger() => false
quantity('50k').asInteger() => 50000
quantity('-9223372036854775808').asInteger() => -9223372036854775807 - 1
quantity('9999999999999999999999999999999999999G').isInteger() => false
quantity('9999999999999999999999999999999999999G').asInteger() =>! cannot convert value to integer
quantity('1500m').asInteger() =>! cannot convert value to integer
quantity('50.703k').asApproximateFloat() => 50703.0
quantity('10001n').asApproximateFloat() => 0.000010001
sign(quantity('-1')) => -1
quantity('0').sign() => 0
quantity('50k').add(quantity('20k')) == quantity('70k') => true
quantity('50k').add(20) == quantity('50020') => true
quantity('50k').sub(quantity('20k')) == quantity('30k') => true
quantity('50k').add(20).sub(quantity('100k')).sub(-50000) == quantity('20') => true
quantity('200M').compareTo(quantity('0.2G')) => 0
quantity('50M').compareTo(quantity('50Mi')) => -1
quantity('150Mi').isGreaterThan(quantity('100Mi')) => true
quantity('50M').isLessThan(quantity('100M')) => true
quantity('1') == quantity('1000m') => true
amount.isLessThan(quantity('2')) && amount == quantity('1.5') => true
`))

test('semantic version library', () =>
  check(`
isSemver('1.0.0') => true
isSemver('v1.0') || isSemver('hello') || isSemver('01.0.0') => false
isSemver('v1.0', true) && isSemver('01.01.01', true) => true
isSemver('v1.0', false) => false
semver('200K') =>! No Major.Minor.Patch elements found
semver('1.2.3').major() + semver('1.2.3').minor() * 10 + semver('1.2.3').patch() * 100 => 321
semver('1.2.3').compareTo(semver('2.0.0')) => -1
semver('1.2.3').isGreaterThan(semver('1.2.3-rc.1')) => true
semver('1.2.3').isLessThan(semver('1.10.0')) => true
semver('v1', true) == semver('1.0.0+build') => true
version.compareTo(semver('1.2.3')) => 0
`))

test('format library: validation messages', () =>
  check(`
format.dns1123Label().validate('my-label-name') => optional.none()
format.dns1123Label().validate('a b').value()[0].startsWith('a lowercase RFC 1123 label must') => true
format.dns1123Subdomain().validate('apiextensions.k8s.io').hasValue() => false
format.dns1035Label().validate('1a').hasValue() => true
format.qualifiedName().validate('apiextensions.k8s.io/v1beta1').hasValue() => false
format.dns1123LabelPrefix().validate('my-label-prefix-').hasValue() => false
format.dns1123SubdomainPrefix().validate('mysubdomain.prefix.-').hasValue() => false
format.dns1035LabelPrefix().validate('my-label-prefix-').hasValue() => false
format.labelValue().validate('!').value().size() => 1
format.uri().validate('http://example.com').hasValue() => false
format.uri().validate('a') => optional.of(['parse "a": invalid URI for request'])
format.uuid().validate('123e4567-e89b-12d3-a456-426614174000').hasValue() => false
format.uuid().validate('123E4567E89B12D3A456426614174000').hasValue() => false
format.uuid().validate('1') => optional.of(['does not match the UUID format'])
format.byte().validate('aGVsbG8=').hasValue() => false
format.byte().validate('aGVsbG8') => optional.of(['invalid base64'])
format.byte().validate('').hasValue() => true
format.date().validate('2024-02-29').hasValue() => false
format.date().validate('2023-02-29') => optional.of(['invalid date'])
format.datetime().validate('2021-01-01T00:00:00Z').hasValue() => false
format.datetime().validate('2021-01-01t23:59:59.123+01:00').hasValue() => false
format.datetime().validate('2021-01-01T24:00:00Z') => optional.of(['invalid datetime'])
format.named('unknown').hasValue() => false
format.named('uri').value() == format.uri() => true
format.date() == format.datetime() => false
'%s-%s'.format(['a', 'b']) => 'a-b'
`))

test('the cost of library calls equals that of Kubernetes', () => {
  /** Checks the cost of a call without that of its arguments. */
  const costs = (expression: string, expected: number): void => {
    const budget = new Budget(Infinity)
    compile(expression, environment).evaluate(variables, budget)
    assert.equal(budget.spent, expected, expression)
  }
  costs(`isQuantity('12345678901')`, 2)
  costs(`'0123456789'.find('abcde')`, 4)
  costs(`ip.isCanonical('127.0.0.1')`, 2)
  costs(`cidr('192.168.0.0/24').containsIP('192.168.1.1')`, 2 + 1 + 2)
  costs(`cidr('192.168.0.0/24').containsCIDR(cidr('192.168.0.0/24'))`, 2 + 2 + 1 + 1 + 1)
  costs(`format.dns1123Label().validate('0123456789')`, 1 + 2 * 8)
  costs(`sets.equivalent([1, 2], [1, 2, 3])`, 1 + 12)
  costs(`['0123456789', '01234567890123456789'].isSorted()`, 3)
  costs(`[1, 2, 3].sum()`, 3)
  costs(`[3, 2, 1].sort()`, 18 + 11)
})
