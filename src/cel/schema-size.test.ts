/** Sizes and costs are those of Kubernetes v1.36 for the same schema and rule. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JSONSchemaProps } from '#/api/generated/apiextensions/v1.ts'
import { compile } from './cel.ts'
import { maxCardinality, resourceSize, schemaSize } from './schema-size.ts'
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

/** A schema, its maximum size and cardinality, and rules with their greatest cost. */
const cases: readonly (readonly [JSONSchemaProps, string, ...string[]])[] = [
  [
    string(),
    'size 3145726, cardinality 1048576',
    "self == 'abc' => 2",
    "self.split(',').all(x, x == 'abc') => 16357778",
    'type(self) == string => 314576',
  ],
  [
    string(20),
    'size 80, cardinality 1048576',
    "self.matches('a+') => 10",
    "self.split(',').map(x, x.trim()).all(y, y.size() > 1) => 2189",
  ],
  [string(-1), 'size 0, cardinality 1048576', "self.contains('abc') => 1"],
  [
    { ...string(), enum: ['one', 'three', 'é€é€', 4] },
    'size 10, cardinality 1048576',
    "self.contains('abc') => 2",
  ],
  [{ ...string(2), enum: ['one', 'three'] }, 'size 8, cardinality 1048576', "self.contains('abc') => 2"],
  [formatted('byte'), 'size 3145726, cardinality 1048576', 'self == self => 314575'],
  [formatted('byte', 20), 'size 20, cardinality 1048576', 'self == self => 4'],
  [formatted('date', 50), 'size 12, cardinality 241979', 'self == self => 4'],
  [formatted('date-time', 50), 'size 32, cardinality 142987', 'self == self => 6'],
  [formatted('duration', 50), 'size 32, cardinality 786432', 'self == self => 6'],
  [formatted('ipv4'), 'size 3145726, cardinality 1048576', 'isIP(self) => 314574'],
  [intOrString(), 'size 3145726, cardinality 1572864', 'self == self => 314575'],
  [
    intOrString(10),
    'size 40, cardinality 1572864',
    "type(self) == int ? self > 1 : self.matches('^[0-9]+%$') => 23",
  ],
  [integer, 'size 0, cardinality 1572864', 'self == 1 => 1'],
  [number, 'size 0, cardinality 1572864', 'self == 1.5 => 1'],
  [boolean, 'size 0, cardinality 629145', 'self == true => 1'],
  [
    array(integer),
    'size 1572863, cardinality 1048576',
    'self.all(x, x > 1) => 7864317',
    'self.all(x, self.exists(y, y == x + 1)) => 17317293981700',
  ],
  [array(number), 'size 1572863, cardinality 1048576', 'self.all(x, x > 1.0) => 7864317'],
  [array(boolean), 'size 629145, cardinality 1048576', 'self.all(x, x) => 2516582'],
  [array(string()), 'size 1048575, cardinality 1048576', "self.all(x, x == 'abc') => 5242877"],
  [
    array(string(5), 100),
    'size 100, cardinality 1048576',
    'self.all(x, self.exists_one(y, y == x)) => 60602',
    'self.map(x, [x, x]).all(p, p[0] == p[1]) => 3313',
  ],
  [array(string(), 0), 'size 0, cardinality 1048576', "self.all(x, x == 'abc') => 2"],
  [array(string(), -1), 'size 0, cardinality 1048576', "self.all(x, x == 'abc') => 2"],
  [array(formatted('byte')), 'size 1048575, cardinality 1048576', "self.all(x, x == b'a') => 5242877"],
  [
    array(formatted('date')),
    'size 241978, cardinality 1048576',
    "self.all(x, x > timestamp('2020-01-01T00:00:00Z')) => 1451870",
  ],
  [
    array(formatted('date-time')),
    'size 142987, cardinality 1048576',
    "self.all(x, x > timestamp('2020-01-01T00:00:00Z')) => 857924",
  ],
  [
    array(formatted('duration')),
    'size 786431, cardinality 1048576',
    "self.all(x, x > duration('1s')) => 4718588",
  ],
  [array(intOrString()), 'size 1572863, cardinality 1048576', 'self.all(x, x == 1) => 7864317'],
  [
    array(array(array(string()))),
    'size 1048575, cardinality 1048576',
    "self.all(x, x.all(y, y.all(z, z == 'abc'))) => 5764596527928442877",
  ],
  [array({ type: 'object' }), 'size 1048575, cardinality 1048576', 'self.all(x, x == x) => 5242877'],
  [
    array(map(integer)),
    'size 1048575, cardinality 1048576',
    'self.all(x, x.all(k, x[k] > 1)) => 3298531737602',
  ],
  [
    array(object({ a: integer, bc: string() }, 'a', 'bc')),
    'size 185042, cardinality 1048576',
    "self.all(x, x.bc == 'abc') => 1110254",
  ],
  [
    array(object({ a: integer, b: { ...string(), default: 'x' }, c: string() }, 'a', 'b')),
    'size 349525, cardinality 1048576',
    'self.all(x, x.a > 1) => 2097152',
  ],
  [
    array(object({ 'é': integer, '1 2': string() }, 'é', '1 2')),
    'size 165564, cardinality 1048576',
    'self.size() > 1 => 3',
  ],
  [
    array(object({ a: object({ b: array(boolean) }, 'b') }, 'a')),
    'size 185042, cardinality 1048576',
    'self.all(x, x.a.b[0]) => 1295296',
  ],
  [
    map(string()),
    'size 393215, cardinality 1048576',
    'self.all(k, k.size() < 3) => 2359292',
    'self.all(k, v, v == k) => 1966077',
  ],
  [map(integer, 5), 'size 5, cardinality 1048576', 'self.all(k, self[k] > 1) => 37'],
  [
    map(map(string(5), 5), 5),
    'size 5, cardinality 1048576',
    'self.all(k, self[k].all(l, self[k][l].contains(k))) => 262',
  ],
  [map(array(integer, 5)), 'size 393215, cardinality 1048576', 'self.exists(k, v, v.sum() > 1) => 4325367'],
  [
    object({ a: object({ 'b-c': string(3) }), in: string(5) }),
    'size 0, cardinality 1048576',
    'self.a.b__dash__c == self.__in__ => 7',
  ],
  [
    object({ a: { 'x-kubernetes-preserve-unknown-fields': true }, b: integer }, 'a', 'b'),
    'size 0, cardinality 349525',
    'self.b > 1 => 3',
  ],
  [{ type: 'object', additionalProperties: true }, 'size 0, cardinality 1048576', 'self == self => 2'],
  [
    { ...object({ spec: string(3) }), 'x-kubernetes-embedded-resource': true },
    'size 0, cardinality 1048576',
    "self.spec == 'abcdef' => 3",
  ],
  [
    object({ r: { 'type': 'object', 'x-kubernetes-embedded-resource': true } }),
    'size 0, cardinality 1048576',
    'self.r.metadata.name == self.r.kind => 314580',
  ],
]

test('estimated sizes of a schema and costs of rules', () => {
  for (const [schema, expected, ...rules] of cases) {
    const size = schemaSize(schema)!
    const found = `size ${size.maxElements}, cardinality ${maxCardinality(size)}`
    assert.equal(found, expected, JSON.stringify(schema))
    for (const line of rules) {
      const [rule = '', cost] = line.split(' => ')
      const { max } = compile(rule, ruleEnvironment(selfType(schema, false))).estimateCost(() => size)
      assert.equal(String(max), cost, rule)
    }
  }
})

test('the root of a resource has type and object metadata', () => {
  const own = { kind: string(3), apiVersion: string(4) }
  const declared = object({ ...own, metadata: object({ name: string(5), generateName: string(6) }) })
  const rules: readonly (readonly [JSONSchemaProps, string, bigint])[] = [
    [object(own), "self.kind.contains('abc')", 314_575n],
    [object({ spec: object({ a: string(4) }) }), 'self.spec.a == self.metadata.generateName', 8n],
    [declared, "self.kind.contains('abc')", 4n],
    [declared, 'self.metadata.name == self.metadata.generateName', 8n],
  ]
  for (const [schema, rule, cost] of rules) {
    const size = resourceSize(schema)
    const program = compile(rule, ruleEnvironment(selfType(schema, true)))
    assert.equal(program.estimateCost(() => size).max, cost, rule)
  }
})

test('schemas that are not visible to expressions have no size', () => {
  const unknown: JSONSchemaProps = { 'x-kubernetes-preserve-unknown-fields': true }
  for (const schema of [unknown, array(unknown), map(unknown), { type: 'array' }]) {
    assert.equal(schemaSize(schema), undefined)
  }
  assert.equal(schemaSize(object({ a: unknown }))?.field?.('a'), undefined)
})
