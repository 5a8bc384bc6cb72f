import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deepFreeze, type JsonValue } from '../text/json-value.ts'
import type { Schema } from '../schema.ts'
import { TypedValueError } from './structure.ts'
import { customSchema, deploymentSchema, mapOf, string, struct } from './testdata/schemas.ts'
import { validateTypedValue } from './validate-typed-value.ts'

function check(schema: Schema, value: JsonValue, ...expected: readonly string[]): void {
  const problems = validateTypedValue(schema, deepFreeze(value))
  assert.deepEqual(
    problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)),
    expected,
  )
}

const scalars = struct({
  string,
  byte: { type: 'string', format: 'byte' },
  time: { type: 'string', format: 'date-time' },
  integer: { type: 'integer' },
  number: { type: 'number' },
  boolean: { type: 'boolean' },
  either: { type: 'int-or-string' },
  quantity: { type: 'quantity' },
  map: mapOf(string),
})

test('validateTypedValue accepts values that match the schema', () => {
  check(scalars, { string: 'a', byte: 'YQ==', time: 'now', integer: 1, number: 1.5, boolean: true })
  check(scalars, { either: 1, quantity: 1 })
  check(scalars, { integer: 2n ** 60n, either: 'a', quantity: '1Gi', time: 1 })
  check(scalars, { string: null, integer: null, map: null, boolean: null })
  check(customSchema, { spec: { known: 'a', other: [1, { a: null }] }, anything: [[]], raw: 1 })
})

test("scalar type errors have Kubernetes' messages", () => {
  const value = '&value.valueUnstructured{Value'
  check(scalars, { string: 1 }, `.string: expected string, got ${value}:1}`)
  check(scalars, { string: true }, `.string: expected string, got ${value}:true}`)
  check(
    scalars,
    { string: { b: ['x'], a: 1 } },
    `.string: expected string, got ${value}:map[string]interface {}{"a":1, "b":[]interface {}{"x"}}}`,
  )
  check(scalars, { integer: '1' }, '.integer: expected numeric (int or float), got string')
  check(scalars, { number: true }, '.number: expected numeric (int or float), got bool')
  check(scalars, { integer: [] }, '.integer: expected numeric (int or float), got []interface {}')
  check(scalars, { boolean: 'yes' }, '.boolean: expected boolean, got &{yes}')
  check(
    scalars,
    { either: { b: 1, a: [1, null] } },
    '.either: expected any scalar, got &{map[a:[1 <nil>] b:1]}',
  )
  check(scalars, { map: 'x' }, '.map: expected map, got &{x}')
  check(scalars, { map: { a: 1 } }, `.map.a: expected string, got ${value}:1}`)
  check(deploymentSchema, { status: { conditions: {} } }, '.status.conditions: expected list, got &{map[]}')
})

test('an undeclared field is reported', () => {
  check(deploymentSchema, { spec: { replicaz: 1, other: 1 } }, '.spec.replicaz: field not declared in schema')
  check(
    deploymentSchema,
    JSON.parse('{"spec":{"__proto__":1}}'),
    '.spec.__proto__: field not declared in schema',
  )
  check(deploymentSchema, { spec: { constructor: 1 } }, '.spec.constructor: field not declared in schema')
})

test('items with equal keys are reported as duplicates', () => {
  const ports: JsonValue[] = [{ containerPort: 80, protocol: 'TCP' }, { containerPort: 80 }]
  check(
    deploymentSchema,
    { spec: { template: { spec: { containers: [{ name: 'web', ports }] } } } },
    '.spec.template.spec.containers[name="web"].ports: duplicate entries for key ' +
      '[containerPort=80,protocol="TCP"]',
  )
  check(
    deploymentSchema,
    { metadata: { finalizers: ['a', 'b', 'a'] } },
    '.metadata.finalizers: duplicate entries for key [="a"]',
  )
  check(
    deploymentSchema,
    { status: { conditions: [{ reason: 'x' }] } },
    '.status.conditions: element 0: associative list with keys has an element that omits all key fields ' +
      `["type"] (and doesn't have default values for any key fields)`,
  )
})

test('several problems are reported together', () => {
  const problems = validateTypedValue(scalars, { integer: 'a', boolean: 1 })
  assert.equal(
    new TypedValueError(problems).message,
    'errors:\n  .integer: expected numeric (int or float), got string\n' +
      '  .boolean: expected boolean, got &{1}',
  )
})

test('validateTypedValue bounds depth and number of problems', () => {
  let deep: JsonValue = {}
  for (let level = 0; level < 100_000; level++) deep = level % 2 === 0 ? [deep] : { a: deep }
  assert.match(validateTypedValue(customSchema, { anything: deep })[0]?.message ?? '', /levels deep$/)
  assert.ok((validateTypedValue(scalars, { string: deep })[0]?.message.length ?? 0) < 200)
  const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`k${index}`, index]))
  assert.equal(validateTypedValue(scalars, { map: many }).length, 100)
  assert.ok((validateTypedValue(scalars, { string: many })[0]?.message.length ?? 0) < 500)
})
