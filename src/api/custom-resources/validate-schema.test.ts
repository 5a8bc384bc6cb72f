import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatFieldError } from '../field-error.ts'
import type { JSONSchemaProps } from '../generated/apiextensions/v1.ts'
import type { JsonObject } from '../text/json-object.ts'
import { compileSchemaCheck } from './validate-schema.ts'

const text: JSONSchemaProps = { type: 'string' }
const integer: JSONSchemaProps = { type: 'integer' }

function object(
  properties: Readonly<Record<string, JSONSchemaProps>>,
  more: JSONSchemaProps = {},
): JSONSchemaProps {
  return { type: 'object', properties, ...more }
}

/** Checks the errors of `spec`; each expected text may leave out the field, which is repeated in the message. */
function check(schema: JSONSchemaProps, spec: object, ...expected: readonly string[]): void {
  const errors = compileSchemaCheck(object({ spec: schema }))({ spec } as JsonObject)
  assert.deepEqual(errors.map(formatFieldError), expected)
}

function checkUpdate(
  schema: JSONSchemaProps,
  [spec, old]: readonly [object, object],
  ...expected: readonly string[]
): void {
  const errors = compileSchemaCheck(object({ spec: schema }))(
    { spec } as JsonObject,
    { spec: old } as JsonObject,
  )
  assert.deepEqual(errors.map(formatFieldError), expected)
}

function wrongType(field: string, wanted: string, actual: string): string {
  return `${field}: Invalid value: "${actual}": ${field} in body must be of type ${wanted}: "${actual}"`
}

test('values of a custom resource must have the type of the schema', () => {
  const number: JSONSchemaProps = { type: 'number' }
  const schema = object({ a: text, b: integer, c: number, d: { type: 'array', items: text }, e: object({}) })
  check(schema, { a: 'x', b: 1, c: 1.5, d: ['x'], e: {} })
  check(schema, { c: 1, b: 9007199254740993n })
  check(
    schema,
    { a: 1, b: 'x', c: true, d: 'x', e: [] },
    wrongType('spec.a', 'string', 'integer'),
    wrongType('spec.b', 'integer', 'string'),
    wrongType('spec.c', 'number', 'boolean'),
    wrongType('spec.d', 'array', 'string'),
    wrongType('spec.e', 'object', 'array'),
  )
  check(
    schema,
    { d: ['x', null, 1] },
    wrongType('spec.d[1]', 'string', 'null'),
    wrongType('spec.d[2]', 'string', 'integer'),
  )
  check(
    schema,
    { b: 1.5 },
    wrongType('spec.b', 'integer', 'number'),
    '<nil>: Invalid value: "": Checked value must be of type integer (default format) in spec.b',
  )
  check(object({ a: { ...text, nullable: true } }), { a: null })
  const either = object({ a: { 'x-kubernetes-int-or-string': true } })
  check(either, { a: 1 })
  check(either, { a: '50%' })
  check(either, { a: true }, wrongType('spec.a', 'integer,string', 'boolean'))
})

test('strings of a custom resource have a length, a pattern and a format', () => {
  const schema = object({ a: { ...text, minLength: 2, maxLength: 3, pattern: '^a' } })
  check(schema, { a: 'aäö' })
  check(schema, { a: 'abcd' }, 'spec.a: Too long: may not be more than 3 bytes')
  check(schema, { a: 'b' }, 'spec.a: Invalid value: "b": spec.a in body should be at least 2 chars long')
  check(schema, { a: 'bb' }, `spec.a: Invalid value: "bb": spec.a in body should match '^a'`)
  const formatted = (format: string, ...values: readonly string[]) => {
    for (const value of values) check(object({ a: { ...text, format } }), { a: value })
    const detail = `spec.a in body must be of type ${format}: "? ?"`
    check(object({ a: { ...text, format } }), { a: '? ?' }, `spec.a: Invalid value: "? ?": ${detail}`)
  }
  formatted('date-time', '2024-01-01T00:00:00Z')
  formatted('ipv4', '1.2.3.4')
  formatted('ipv6', '::1')
  formatted('cidr', '10.0.0.0/8', '10.0.0.1/8')
  formatted('email', 'a@b.c', 'Ann <a@b.c>')
  formatted('hostname', 'a.example.com', 'localhost')
  formatted('mac', '00:11:22:33:44:55', '0011.2233.4455')
  formatted('duration', '1h', '1h30m', '3 days')
  formatted('uuid4', '7d444840-9dc0-41d1-b245-5ffdce74fad2')
  formatted('isbn', '978-3-16-148410-0', '0-306-40615-2')
  formatted('creditcard', '4111 1111 1111 1111')
  formatted('k8s-short-name', 'abc')
  check(object({ a: { ...text, format: 'unknown' } }), { a: '? ?' })
})

test('numbers of a custom resource are in range', () => {
  const schema = object({ a: { ...integer, minimum: 2, maximum: 5, multipleOf: 2 } })
  check(schema, { a: 4 })
  check(schema, { a: 0 }, 'spec.a: Invalid value: 0: spec.a in body should be greater than or equal to 2')
  check(schema, { a: 6 }, 'spec.a: Invalid value: 6: spec.a in body should be less than or equal to 5')
  check(schema, { a: 3 }, 'spec.a: Invalid value: 3: spec.a in body should be a multiple of 2')
  const open = object({ a: { type: 'number', minimum: 0, exclusiveMinimum: true } })
  check(open, { a: 0 }, 'spec.a: Invalid value: 0: spec.a in body should be greater than 0')
  check(
    object({ a: { ...integer, format: 'int32' } }),
    { a: 3_000_000_000 },
    '<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.a',
  )
})

test('lists and objects of a custom resource have sizes, required fields and enum values', () => {
  const list = object({ a: { type: 'array', items: integer, minItems: 2, maxItems: 3 } })
  check(list, { a: [1] }, 'spec.a: Invalid value: 1: spec.a in body should have at least 2 items')
  check(list, { a: [1, 2, 3, 4] }, 'spec.a: Too many: 4: must have at most 3 items')
  const map = object({
    m: { type: 'object', additionalProperties: integer, minProperties: 1, maxProperties: 1 },
  })
  check(map, { m: {} }, 'spec.m: Invalid value: 0: spec.m in body should have at least 1 properties')
  check(map, { m: { a: 1, b: 2 } }, 'spec.m: Too many: 2: must have at most 1 item')
  check(map, { m: { a: 'x' } }, wrongType('spec.m.a', 'integer', 'string'))
  check(object({ a: text, b: text }, { required: ['a', 'b'] }), { a: 'x' }, 'spec.b: Required value')
  check(object({ a: text }, { required: ['__proto__'] }), {}, 'spec.__proto__: Required value')
  const choice = object({ a: { ...text, enum: ['x', 'y'] } })
  check(choice, { a: 'z' }, 'spec.a: Unsupported value: "z": supported values: "x", "y"')
})

test('errors of combined schemas refer to the whole object', () => {
  const oneOf = object({ a: text, b: text }, { oneOf: [{ required: ['a'] }, { required: ['b'] }] })
  const head = '<nil>: Invalid value: "": "spec" must validate'
  check(oneOf, { a: 'x' })
  check(oneOf, {}, `${head} one and only one schema (oneOf). Found none valid`, 'spec.a: Required value')
  check(oneOf, { a: 'x', b: 'y' }, `${head} one and only one schema (oneOf). Found 2 valid alternatives`)
  const anyOf = object({ a: text, b: text }, { anyOf: [{ required: ['a'] }, { required: ['b'] }] })
  check(anyOf, {}, `${head} at least one schema (anyOf)`, 'spec.a: Required value')
  const not = object({ a: text }, { not: { required: ['a'] } })
  check(not, { a: 'x' }, '<nil>: Invalid value: "": "spec" must not validate the schema (not)')
})

test('errors of unchanged values are ignored in updates', () => {
  const schema = object({ a: { ...integer, maximum: 5 }, b: text })
  const tooLarge = 'spec.a: Invalid value: 9: spec.a in body should be less than or equal to 5'
  checkUpdate(schema, [
    { a: 9, b: 'new' },
    { a: 9, b: 'old' },
  ])
  checkUpdate(schema, [{ a: 9 }, { a: 8 }], tooLarge)
  const items = object({ k: text, v: { ...integer, maximum: 5 } })
  const list = {
    'type': 'array',
    items,
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['k'],
  } as const
  const [old, added] = [
    { k: 'a', v: 9 },
    { k: 'b', v: 1 },
  ]
  checkUpdate(object({ l: list }), [{ l: [added, old] }, { l: [old] }])
})
