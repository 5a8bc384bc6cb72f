/** The costs are those of Kubernetes v1.36 for the same schema and rule. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compile } from './cel.ts'
import type { Estimate } from './estimate.ts'
import { schemaSize } from './schema-size.ts'
import { authorizerType } from './authorizer.ts'
import { ruleEnvironment, selfType } from './rule-environment.ts'
import {
  array,
  boolean,
  formatted,
  integer,
  intOrString,
  map,
  number,
  object,
  string,
} from './test-schemas.ts'

/** Digits are limits: `s10` is a string of at most 10 characters, `l` a list without a limit. */
const schema = object({
  's': string(),
  's10': string(10),
  't10': string(10),
  'e': { type: 'string', enum: ['a', 'bcd', 'é€'] },
  'i': integer,
  'j': integer,
  'n': number,
  'b': boolean,
  'by': formatted('byte'),
  'by10': formatted('byte', 10),
  'd': formatted('duration'),
  'dt': formatted('date-time'),
  'da': formatted('date'),
  'ios': intOrString(),
  'ios5': intOrString(5),
  'uuid': formatted('uuid'),
  'l': array(string()),
  'l10': array(string(10), 10),
  'li': array(integer, 20),
  'lu': array(integer),
  'lb': array(boolean),
  'lby': array(formatted('byte', 7), 5),
  'ln': array(number, 8),
  'ldt': array(formatted('date-time')),
  'ld': array(formatted('duration'), 9),
  'lda': array(formatted('date')),
  'll': array(array(integer, 5), 6),
  'lls': array(array(string(4), 3), 2),
  'lm': array(map(string(3), 4), 5),
  'lo': array(
    object({ name: string(20), port: integer, tags: array(string(5), 4), opt: string() }, 'name', 'port'),
    30,
  ),
  'lou': array(object({ name: string(), v: boolean, q: integer }, 'name', 'v')),
  'm': map(string()),
  'm10': map(string(10), 10),
  'mi': map(integer, 5),
  'mu': map(integer),
  'mo': map(object({ a: string(3), l: array(integer, 2) }, 'a'), 7),
  'ml': map(array(string(6), 3), 4),
  'mm': map(map(integer, 2), 3),
  'lios': array(intOrString()),
  'lios5': array(intOrString(5), 4),
  'mios': map(intOrString(3), 4),
  'o': object({
    x: string(8),
    y: integer,
    z: object({
      w: array(string(2), 3),
      v: array(array(object({ deep: string(9), arr: array(integer, 3) }), 4), 5),
    }),
  }),
  'a-b': string(3),
  'in': integer,
  'pu': { ...object({ k: string(4) }), 'x-kubernetes-preserve-unknown-fields': true },
  'puu': { 'x-kubernetes-preserve-unknown-fields': true },
  'er': { ...object({ spec: object({ p: string(5) }) }), 'x-kubernetes-embedded-resource': true },
  'ler': array({ 'type': 'object', 'x-kubernetes-embedded-resource': true }, 3),
  'empty': { type: 'object' },
})
/** Rules of custom resources have no authorizer; policies do, with the same costs. */
const environment = ruleEnvironment(selfType(schema, false)).extend({
  variables: { authorizer: authorizerType },
})
const size = schemaSize(schema)

/** Lines of `rule => cost` or `rule => least..greatest cost`. */
function check(table: string): void {
  for (const line of table.trim().split('\n')) {
    const [rule = '', cost] = line.split(' => ')
    assert.equal(show(compile(rule, environment).estimateCost(() => size)), cost, rule)
  }
}

function show({ min, max }: Estimate): string {
  return min === max ? `${max}` : `${min}..${max}`
}

test('estimated cost: fields of all types', () => {
  check(String.raw`
true => 0
self.i == 1 => 2
self.i < self.j => 5
self.i + self.j * 2 - 3 > 4 / 2 % 2 => 10
-self.i < 0 => 4
!self.b => 3
self.b && self.i > 1 || self.s == 'a' => 2..8
self.b || self.s.contains('a') && self.s10.contains('b') => 2..314583
self.b ? self.s == 'a' : self.s10 == 'a' => 5
(self.b ? self.s10 : 'abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz') == self.s => 5..12
self.s == 'hello world this is long' => 3..5
self.s == self.s => 5..314577
self.s != self.s10 => 5..8
self.s < self.s10 => 5..8
self.s10 >= self.t10 => 5..8
self.e == 'a' => 3
self.e == self.s => 5
self.uuid == self.s => 5..314577
self.n == 1.0 => 2
self.n < 2 => 3
self.by == b'abc' => 3
self.by < self.by10 => 5
self.by10 == self.by => 5
self.by10 + self.by10 == self.by => 7..10
self.d == duration('1s') => 4
self.d < duration('1h') => 4
self.dt > timestamp('2020-01-01T00:00:00Z') => 4
self.dt == self.dt => 5..8
self.da == self.dt => 5..6
self.dt + self.d > self.dt => 8
self.dt - self.dt == self.d => 8
self.dt.getFullYear() == 2020 => 4
self.dt.getHours('UTC') == 1 => 4
self.d.getSeconds() == 1 => 4
self.ios == 1 => 3
self.ios == '10%' => 3
self.ios5 == '10%' => 3
type(self.ios) == int => 4
type(self.ios) == string ? self.ios.size() < 3 : self.ios > 1 => 7..8
type(self.ios5) == string ? self.ios5.matches('^[0-9]+%$') : true => 4..15
self.ios5.contains('x') => 2..4
self.ios.startsWith('x') => 3
self.ios == self.ios5 => 5..6
self.ios.indexOf('x') == 1 => 3..314576
self.ios.replace('a', 'bb') == 'x' => 3..629149
self.ios.split(',').size() == 2 => 4..629150
int(self.ios) == 1 => 4
string(self.ios) == 'x' => 3..314576
double(self.ios.replace('%', '')) < 0.5 => 4..629150
self.l.size() == 1 => 4
size(self.l) == 1 => 4
self.s.size() == 1 => 4
self.m.size() == 2 => 4
size(self.s10) < 3 => 4
has(self.s) && self.s == 'a' => 1..4
has(self.o.z.w) => 3
has(self.m.foo) => 2
self.m10.foo == 'abc' => 4
self.m10['foo'] == 'abcdefghijkl' => 4..5
self.o.x == 'abc' => 4
self.a__dash__b == 'abcdef' => 3
self.__in__ == 3 => 2
self.pu.k == 'abcdef' => 4
self.er.metadata.name == 'abc' => 5
self.er.kind == self.er.apiVersion => 7..314579
self.er.spec.p.contains('abc') => 4..6
`)
})

test('estimated cost: membership, indexes and literals', () => {
  check(String.raw`
self == oldSelf => 2
self.o == oldSelf.o => 4
self.o != oldSelf.o => 4
self.l == oldSelf.l => 5..104862
self.l10 == oldSelf.l10 => 5
self.m10 == oldSelf.m10 => 5
self.mo != oldSelf.mo => 5
self.i in [1, 2, 3] => 15
self.s in ['a', 'b'] => 14
'a' in self.l => 2..1048577
'a' in self.l10 => 2..12
'a' in self.m10 => 3
'a' in self.m => 3
self.s10 in self.m => 5
self.i in self.li => 4..24
self.l[0] == 'abc' => 4
self.l10[0] == 'abcdefgh' => 4
self.lo[0].name == 'abcdefgh' => 5
self.lo[0].tags[1] == 'abcdefgh' => 6
self.ll[0][1] == 2 => 4
self.lls[0][1] == 'abcdefghijklmnopq' => 5..6
['a', 'bcd'][0] == self.s => 14
['a', self.s10][self.i] == self.s => 18..21
{'a': 'abcdefghijklmnop', 'b': self.s10}['a'] == self.s => 36..39
{'a': self.s10}.a == self.s => 35
{1: 'a'}[1] == self.s => 34
[] == self.l10 => 12
{} == self.m10 => 32
[1, 2] + self.li == [3] => 24
self.s + self.s10 == 'abc' => 5..314582
(self.s10 + 'abc').contains('abc') => 4..12
self.s10 + self.t10 + 'x' == self.s => 8..32
dyn(self.s) == 'a' => 4
dyn(self).s == 'a' => 2
dyn(self.s10) == dyn(self.t10) => 7..10
type(self.s) == string => 4
type(self.i) == int => 4
`)
})

test('estimated cost: comprehensions', () => {
  check(String.raw`
(self.b ? self.l10 : ['a']).all(x, x == 'a') => 5..53
self.l.all(x, x == 'a') => 3..5242878
self.l10.all(x, x == 'a') => 3..53
self.l10.exists(x, x == 'a') => 3..63
self.l10.exists_one(x, x == 'a') => 4..44
self.l10.map(x, x + 'abc').all(y, y.size() < 3) => 14..254
self.l10.map(x, x == 'a', x + x).exists(y, y == 'abc') => 14..304
self.l10.filter(x, x.matches('[a-z]+')).size() < 3 => 15..255
self.li.all(x, x > 1) => 3..103
self.li.map(x, x * 2).sum() > 3 => 14..314
self.li.filter(x, x > 1).all(x, x < 9) => 14..414
self.lu.all(x, x > 1) => 3..7864318
self.lb.all(x, x) => 3..2516583
self.lby.all(x, x == b'abc') => 3..28
self.ll.all(x, x.all(y, y > 1)) => 3..183
self.lls.all(x, x.all(y, y == 'ab')) => 3..43
self.lls.map(x, x.map(y, y + 'c')).all(z, z.all(w, w == 'd')) => 14..162
self.lm.all(x, x.all(k, x[k] == 'abc')) => 3..168
self.lo.all(x, x.name == 'a' && x.port > 1 && x.tags.all(t, t == x.name)) => 3..19563
self.lo.all(x, self.lo.exists_one(y, x.name == y.name)) => 3..12813
self.lou.all(x, self.lou.exists_one(y, x.name == y.name)) => 3..6431656420442763
self.lou.all(x, x.v) => 3..714938
self.lo.map(x, x.name).all(y, y == 'abc') => 14..554
self.lo.map(x, x.tags).all(y, y.all(z, z == 'abc')) => 14..584
self.lo.filter(x, has(x.opt)).all(x, x.opt == 'a') => 14..614
self.lo.all(x, has(x.opt)) => 3..123
self.lo.all(x, !has(x.tags) || x.tags.size() > 0) => 3..273
self.m.all(k, self.m[k] == 'a') => 3..3145723
self.m10.all(k, k == 'abc' && self.m10[k] == 'x') => 3..93
self.m10.exists(k, k.contains('a')) => 3..53
self.mi.all(k, self.mi[k] > 0) => 3..43
self.mu.all(k, k.size() < 4) => 3..2696337
self.mo.all(k, self.mo[k].a == 'a' && self.mo[k].l.all(i, i > 0)) => 3..178
self.ml.all(k, self.ml[k].all(v, v == k)) => 3..95
self.mm.all(k, self.mm[k].all(l, self.mm[k][l] > 1)) => 3..87
self.lios.all(x, x == 1 || x == 'a') => 3..11010044
self.lios5.all(x, type(x) == int || x.matches('a+')) => 3..43
self.mios.all(k, self.mios[k] == '1') => 3..35
self.o.z.w.all(x, x == self.o.x) => 5..29
self.o.z.v.all(p, p.all(q, q.deep == 'abc' && q.arr.all(r, r > 1))) => 5..510
self.o.z.v.all(p, p.all(q, q.arr.all(r, r > 1) && q.deep == 'abcdef')) => 5..510
self.o.z.v.all(p, p.exists(q, q.arr.exists(r, q.deep.size() > r))) => 5..6650
self.ler.all(x, x.metadata.name.startsWith('abc')) => 3..24
self.l10.all(x, x in oldSelf.l10) => 3..163
[1, 2, 3].all(x, x > 1) => 20..26
['a', 'bcd'].all(x, x == self.s) => 17..23
[self.s, self.s10].all(x, x == 'a') => 21..23
[[1, 2], [3]].all(x, x.all(y, y > self.i)) => 37..41
{'a': 1, 'b': 2}.all(k, k == self.s) => 37..43
(self.l10 + self.l10).all(x, x == 'a') => 6..86
(self.l10 + ['abc']).all(x, x == 'a') => 17..58
dyn(self.l10).all(x, x == 'abc') => 4..44
dyn([1,2]).all(x, x > 1) => 18..22
`)
})

test('estimated cost: comprehensions with two variables', () => {
  check(String.raw`
self.l10.transformList(i, v, v + string(i)).all(x, x == 'abc') => 14..18446744073709551615
self.l10.transformList(i, v, i > 1, v).size() == 1 => 15..165
self.m10.transformMap(k, v, v + 'abc').all(k, k == 'abc') => 34..164
self.m10.transformMap(k, v, k == 'a', v + 'abc').size() > 1 => 35..135
self.m10.transformMapEntry(k, v, {v: k}).size() > 1 => 35..375
self.m10.transformMapEntry(k, v, k == 'a', {v: k}).all(k, v, k == v) => 34..434
self.m10.all(k, v, k == v) => 3..53
self.l10.all(i, v, i > 1 && v == 'abc') => 3..73
self.l10.exists(i, v, i > 1 && v == 'abc') => 3..83
self.mo.exists_one(k, v, v.a == k && v.l.all(x, x > 1)) => 4..130
self.l10.existsOne(i, v, v == 'abc') => 4..44
[1, 2].all(i, v, i == v) => 17..21
{'a': 'bcd'}.all(k, v, k == v) => 34..36
`)
})

test('estimated cost: strings and conversions', () => {
  check(String.raw`
self.s.startsWith('abcdefghijklmn') => 4
self.s.startsWith(self.s10) => 4..8
self.s.endsWith(self.s) => 4..314577
self.s.contains(self.s10) => 4..1258296
self.s10.contains(self.s) => 4..1258296
self.s.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$') => 9..2202013
self.s10.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$') => 9..37
self.s10.matches(self.s10) => 4..54
matches(self.s10, 'abc') => 3
self.s10.charAt(1) == 'a' => 4
self.s10.indexOf('a') == 1 => 3..7
self.s10.indexOf('a', 2) == 1 => 3..7
self.s.lastIndexOf('abc') == 1 => 3..314576
self.s.lastIndexOf('abc', 1) == 1 => 3..314576
self.s10.lowerAscii() == 'abc' => 3..7
self.s10.upperAscii().contains('ABC') => 2..10
self.s.trim() == 'abc' => 3..314576
self.s10.trim().lowerAscii().contains('abc') => 2..14
strings.quote(self.s10) == 'abcdefghijk' => 3..8
strings.quote(self.s10).contains('abcdefghijk') => 4..24
strings.quote(string(self.i)).contains('abcdefghijkl') => 5..1844674407370955267
self.s10.substring(1) == 'abc' => 3..7
self.s10.substring(1, 3).contains('abc') => 2..10
self.s10.replace('a', 'b') == 'abc' => 3..11
self.s10.replace('ab', 'c').contains('abc') => 2..14
self.s10.replace('a', 'bcd').contains('abc') => 2..22
self.s10.replace('', 'bcd').contains('abc') => 3..27
self.s10.replace(self.t10, 'bcd').contains('abc') => 4..29
self.s10.replace(self.t10, self.s).contains('abc') => 6..12897495
self.s.replace('a', self.s10).contains('abc') => 4..13212054
'abcdefghijkl'.replace('abc', self.s10).contains('abc') => 5..21
'abcdefghijkl'.replace('abc', 'x').contains('abc') => 4..5
'abcdefghijkl'.replace('', '').contains('abc') => 5
'abcdefghijkl'.replace(self.s10, 'xyz').contains('abc') => 6..11
self.s10.replace('a', 'b', 1) == 'abc' => 3..11
self.s10.split(',').all(x, x == 'abc') => 3..171
self.s10.split(',', 3).all(x, x == 'abc') => 3..23
self.s10.split(',', -1).size() == 1 => 4..12
self.s10.split(',', self.i).all(x, x == 'a') => 5..173
self.s.split(',').all(x, x.size() > 1) => 3..19503505
self.s10.split(',')[0] == 'abc' => 3..11
self.l10.join() == 'abc' => 3..43
self.l10.join(',') == 'abc' => 3..44
self.l10.join(self.s10).contains('abc') => 4..156
self.l.join(',').contains('abc') => 2..659706137808
['a', self.s10].join(',') == 'abc' => 14..1844674407370955277
self.s10.split(',').join('-') == 'abc' => 3..1844674407370955275
self.l10.map(x, x).join(',') == 'abc' => 14..1844674407370955408
'%s and %d'.format([self.s, self.i]) == 'abc' => 16
self.s10.format([1]).contains('abc') => 12..1844674407370955280
bytes(self.s10) == self.by10 => 5..9
bytes(self.s10).size() == 1 => 4..8
string(bytes(self.s10)).contains('abc') => 2..38
bytes(string(self.i)) == self.by => 6..1844674407371269842
string(self.by10) == 'abc' => 3..4
string(self.by).contains('abc') => 2..629148
string(self.i) == 'abc' => 4
string(self.s10) == 'abc' => 4
int(self.s10) == 1 => 4
uint(self.i) == 1u => 4
double(self.s) == 1.0 => 4
bool(self.s10) => 3
duration(self.s10) == self.d => 6
timestamp(self.s10) == self.dt => 6
int(self.dt) == 1 => 4
`)
})

test('estimated cost: lists', () => {
  check(String.raw`
self.li.isSorted() => 2..22
self.l10.isSorted() => 2..52
self.l.isSorted() => 2..329854432052
self.lby.isSorted() => 2..12
self.ldt.isSorted() => 2..142989
self.ld.sum() == duration('1s') => 4..13
self.li.sum() == 1 => 3..23
self.ln.sum() == 1.0 => 3..11
self.li.min() == 1 => 3..23
self.l10.max() == 'abc' => 3..53
self.l.min() == 'abc' => 3..329854432053
self.lda.max() == self.dt => 5..241983
self.l10.indexOf('a') == 1 => 3..53
self.li.lastIndexOf(1) == 1 => 3..23
self.lo.indexOf(self.lo[0]) == 1 => 6..36
[1, 2, 3].sum() == self.i => 15
['a', 'b'].max() == self.s => 15..3689348814742225115
self.l10.map(x, x).isSorted() => 13..18446744073709551615
sets.contains(self.l10, ['a', 'b']) => 13..33
sets.equivalent(self.l10, self.l) => 5..20971505
sets.intersects(self.li, self.lu) => 5..31457265
sets.contains(self.li.map(x, x), [1]) => 24..304
self.li.slice(1, 3).all(x, x > 1) => 22..26
self.li.slice(1, self.i).size() > 1 => 36
self.li.slice(self.i, 5).all(x, x > 1) => 36..46
self.li.slice(4, 2).size() > 1 => 18446744073709551615
self.ll.flatten().all(x, x > 1) => 14..50
self.ll.flatten(2).size() > 1 => 15..27
self.ll.flatten(self.i).size() > 1 => 17..18446744073709551615
lists.range(5).all(x, x > 1) => 32..42
lists.range(self.i).size() > 1 => 18446744073709551615
self.l10.reverse().all(x, x == 'abc') => 14..64
self.l10.distinct().all(x, x == 'abc') => 14..614
self.l.distinct().size() == 1 => 15..2199019061265
self.li.sort()[0] == 1 => 14..814
self.l10.sort().all(x, x == 'abc') => 14..624
self.lo.sortBy(x, x.port).all(x, x.name == 'abc') => 37..7657
self.lo.sortBy(x, x.name)[0].name == 'abc' => 39..2349
`)
})

test("estimated cost: Kubernetes' types", () => {
  check(String.raw`
self.s10.find('[a-z]+') == 'abc' => 5..13
self.s10.find('[a-z]+').contains('abc') => 4..16
self.s10.findAll('[a-z]+').size() == 1 => 6..14
self.s10.findAll('[a-z]+', 2).all(x, x == 'abc') => 5..173
self.s.find(self.s10) == 'abc' => 5..3145735
isURL(self.s) => 3
url(self.s10).getHost() == 'abc' => 4..8
url(self.s).getScheme() == 'https' => 4..314577
url(self.s10).getHostname() == url(self.s10).getPort() => 7..1844674407370955278
url(self.s10).getEscapedPath() == 'abc' => 4..8
url(self.s10).getQuery()['a'].all(x, x == 'abc') => 5..9
url(self.s10).getQuery().all(k, k == 'abc') => 4..18446744073709551615
url(self.s10) == url(self.s) => 5..629154
url(self.s) == url(self.s10) => 5..314585
url(self.s10) != url(self.s) => 5..314585
isIP(self.s10) => 2..6
ip(self.s10).family() == 4 => 4..8
ip(self.s10) == ip(self.t10) => 5..13
ip(self.s10) != ip(self.t10) => 5..1844674407370955276
ip.isCanonical(self.s10) => 2..10
ip.isCanonical(self.s) => 2..629148
ip(self.s10).isUnspecified() || ip(self.s10).isLoopback() => 3..14
ip(self.s10).isLinkLocalMulticast() || ip(self.s10).isLinkLocalUnicast() => 3..14
ip(self.s10).isGlobalUnicast() => 3..7
string(ip(self.s10)) == 'abc' => 4..8
isCIDR(self.s) => 2..314575
cidr(self.s10).containsIP(self.t10) => 5..16
cidr(self.s10).containsIP(ip(self.t10)) => 5..16
cidr(self.s10).containsCIDR(self.s) => 7..314588
cidr(self.s10).containsCIDR(cidr(self.t10)) => 7..19
cidr(self.s10).prefixLength() <= 24 => 4..8
cidr(self.s10).ip().family() == 4 => 5..9
cidr(self.s10).masked() == cidr(self.t10) => 6..14
string(cidr(self.s10)) == 'abc' => 4..8
cidr(self.s10).masked() != cidr(self.t10) => 6..1844674407370955277
type(ip(self.s10)) == net.IP => 4..8
isQuantity(self.s10) => 2..6
quantity(self.s10).isLessThan(quantity('1')) => 4..8
quantity(self.s).isGreaterThan(quantity(self.s10)) => 5..314582
quantity(self.s10).compareTo(quantity('1')) == 0 => 5..9
quantity(self.s10) == quantity(self.t10) => 5..13
quantity(self.s10).add(quantity('1')).sub(1).asInteger() == 1 => 7..11
quantity(self.s10).asApproximateFloat() > 1.0 => 4..8
sign(quantity(self.s10)) == 1 => 4..8
isSemver(self.s10) => 2..6
isSemver(self.s, true) => 2..314575
semver(self.s10).major() == semver(self.s10, true).minor() => 7..15
semver(self.s10).patch() == 1 => 4..8
semver(self.s10).isGreaterThan(semver('1.0.0')) => 4..8
semver(self.s10).isLessThan(semver('1.0.0')) || semver(self.s10).compareTo(semver('1.0.0')) == 0 => 4..17
semver(self.s10) == semver(self.t10) => 5..13
format.dns1123Label().validate(self.s10).hasValue() => 4..132
!format.named('dns1123Label').value().validate(self.s).hasValue() => 6..10066342
format.named(self.s10).hasValue() => 4
format.dns1123Label() == format.dns1035Label() => 3..9
format.dns1123Label() != format.dns1035Label() => 3..1844674407370955266
format.uri().validate(self.s10).orValue([]).size() == 0 => 16..144
format.date().validate(self.s10).orValue([]).all(x, x == 'abc') => 15..18446744073709551615
authorizer.group('apps').resource('pods').namespace('a').name('b').check('get').allowed() => 350006
authorizer.path('/x').check(self.s10).reason() == 'abc' => 350006
authorizer.serviceAccount('a', 'b').path('/x').check('get').errored() => 350004
authorizer.group('').resource('pods').subresource('c').fieldSelector(self.s10).check('list').errored() => 350017..351021
authorizer.group('').resource('pods').labelSelector('a=b').check('list').errored() => 350115
authorizer.path('/x').check('get').error() == '' => 350003
`)
})

test('estimated cost: optional values', () => {
  check(String.raw`
self.l10.first().hasValue() => 4
self.l10.last().orValue('abc') == 'abcd' => 5
self.?s.orValue('abc') == 'abc' => 4
self.?i.orValue(1) == 1 => 4
self.?o.?x.orValue('abc') == self.s => 7..314579
self.?o.x.hasValue() => 3
self.o.?x.optMap(v, v + 'abc').orValue('abc') == 'abc' => 7..1844674407370955286
self.o.?x.optFlatMap(v, optional.of(v)).hasValue() => 6..21
self.?i.optMap(v, v + 1).orValue(1) == 1 => 6..21
self.l10[?0].orValue('abc') == 'abc' => 5
self.m10[?'a'].orValue('abc') == 'abc' => 5
self.?l10[0].hasValue() => 4
optional.of(self.s10) == optional.none() => 5..1844674407370955268
optional.ofNonZeroValue(self.s10).hasValue() => 4
optional.of(self.s10).or(optional.of('a')).value() == 'abc' => 7
optional.unwrap([optional.of(1)]).all(x, x > 1) => 13..18446744073709551615
[optional.of(self.s10)].unwrapOpt().all(x, x == 'abc') => 15..18446744073709551615
[?self.?s10, 'a'].all(x, x == 'abc') => 19..21
{?'a': self.?s10}.all(k, k == 'abc') => 36..37
self.lo.all(x, x.?opt.orValue('') == 'a') => 3..213
`)
})
