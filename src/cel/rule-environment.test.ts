import { test } from 'node:test'
import type { JSONSchemaProps } from '#/api/generated/apiextensions/v1.ts'
import type { JsonObject } from '#/api/text/json-object.ts'
import { fromJson } from './json.ts'
import { ruleEnvironment, selfType } from './rule-environment.ts'
import { checkExpressions } from './test-expressions.ts'
import { array, formatted, integer, map, object, string } from './test-schemas.ts'

/** Values of one schema, `self.a`, `self.b` and so on, of which expressions compare two. */
function check(schema: JSONSchemaProps, values: JsonObject, table: string): void {
  const type = selfType(map(schema), false)
  checkExpressions(table, { environment: ruleEnvironment(type), variables: { self: fromJson(values, type) } })
}

function setOf(items: JSONSchemaProps): JSONSchemaProps {
  return { ...array(items), 'x-kubernetes-list-type': 'set' }
}

function mapListOf(...keys: string[]): JSONSchemaProps {
  const items = object({ k: string(), j: integer, v: integer })
  return { ...array(items), 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': keys }
}

test('a list of type set is compared without order and merged without duplicates', () => {
  check(
    setOf(string()),
    { a: ['x', 'y'], b: ['y', 'x'], c: ['x', 'z'], d: ['x'], e: ['x', 'x'] },
    `
self.a == self.b => true
self.a != self.b => false
self.a == self.c => false
self.a == self.d => false
self.a == self.e => false
self.a == ['y', 'x'] => true
['y', 'x'] == self.a => false
self.a + ['z', 'x', 'z'] == ['z', 'y', 'x'] => true
(self.a + self.c)[2] => 'z'
(self.a + self.c).size() => 3
(['x'] + self.a).size() => 3
self.a + self.b == self.a => true
self.a.map(x, x) == ['y', 'x'] => false
self == {'a': ['y', 'x'], 'b': ['x', 'y'], 'c': ['z', 'x'], 'd': ['x'], 'e': ['x', 'x']} => true
`,
  )
  check(
    setOf(formatted('duration')),
    { a: ['1h', '2h'], b: ['120m', '60m'] },
    `
self.a == self.b => true
(self.a + self.b).size() => 2
`,
  )
  const atomic = { ...object({ q: integer }), 'x-kubernetes-map-type': 'atomic' }
  check(
    setOf(atomic),
    { a: [{ q: 1 }, { q: 2 }], b: [{ q: 2 }, { q: 1 }], c: [{ q: 3 }] },
    `
self.a == self.b => true
self.a == self.c => false
(self.a + self.b).size() => 2
(self.a + self.c).size() => 3
`,
  )
})

test('a list of type map is compared and merged by its keys', () => {
  const values = {
    a: [
      { k: 'x', j: 1, v: 1 },
      { k: 'y', j: 2, v: 2 },
    ],
    b: [
      { k: 'y', j: 2, v: 2 },
      { k: 'x', j: 1, v: 1 },
    ],
    c: [
      { k: 'z', j: 1, v: 3 },
      { k: 'x', j: 1, v: 4 },
    ],
    d: [{ k: 'x', j: 2, v: 5 }],
  }
  check(
    mapListOf('k'),
    values,
    `
self.a == self.b => true
self.a == self.c => false
(self.a + self.c).map(e, e.k) => ['x', 'y', 'z']
(self.a + self.c).map(e, e.v) => [4, 2, 3]
(self.a + self.d).size() => 2
self.a + self.b == self.a => true
`,
  )
  check(
    mapListOf('k', 'j'),
    values,
    `
self.a == self.b => true
(self.a + self.d).size() => 3
(self.a + self.c).map(e, e.v) => [4, 2, 3]
`,
  )
})

test('preserved unknown fields are not visible, but compared', () => {
  const preserving = { ...object({ k: integer }), 'x-kubernetes-preserve-unknown-fields': true }
  check(
    preserving,
    {
      a: { k: 1, u: { x: [1, 2] } },
      b: { k: 1, u: { x: [2, 1] } },
      c: { u: { x: [1, 2] }, k: 1 },
      d: { k: 1 },
    },
    `
self.a == self.b => false
self.a == self.c => true
self.a == self.d => false
self.a.u =>? undefined field 'u'
`,
  )
})

test('a null field is absent', () => {
  check(
    object({ k: { ...integer, nullable: true } }),
    { a: { k: null }, b: { k: 1 } },
    `
has(self.a.k) => false
self.a.?k.orValue(2) => 2
self.a == self.b => false
`,
  )
})
