import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatFieldError } from '../../field-error.ts'
import type { JSONSchemaProps } from '../../generated/apiextensions/v1.ts'
import { validateSchema } from './schema-validation.ts'

const text = { type: 'string' }

/** Expects exactly these errors; an expected text may be a prefix of the error. */
function check(schema: object, ...errors: readonly string[]): void {
  assertErrors(validateSchema('s', schema as JSONSchemaProps, false).map(formatFieldError), errors)
}

function assertErrors(texts: readonly string[], expected: readonly string[]): void {
  const shown = texts.map((each, index) =>
    each.startsWith(expected[index] ?? '\n') ? expected[index] : each,
  )
  assert.deepEqual(shown, expected)
}

function object(properties: object, change: object = {}): object {
  return { type: 'object', properties, ...change }
}

test('a structural schema requires a type for every field', () => {
  check(object({ spec: object({ a: { type: 'array', items: text } }) }))
  check({}, 's.type: Required value: must not be empty at the root')
  check({ type: 'string' }, 's.type: Invalid value: "string": must be object at the root')
  check(
    object({ a: {} }),
    's.properties[a].type: Required value: must not be empty for specified object fields',
  )
  check(
    object({ a: { type: 'array', items: {} } }),
    's.properties[a].items.type: Required value: must not be empty for specified array items',
  )
  check(object({ a: { type: 'array' } }), 's.properties[a].items: Required value: must be specified')
  check(
    object({
      a: { 'x-kubernetes-preserve-unknown-fields': true },
      b: { 'x-kubernetes-int-or-string': true },
    }),
  )
  check(
    { type: 'object', additionalProperties: text },
    's.additionalProperties: Forbidden: must not be used at the root',
  )
  check(
    object({ a: { type: 'object', additionalProperties: {} } }),
    's.properties[a].additionalProperties.type: Required value: must not be empty for specified object fields',
  )
})

test('value validations in allOf, anyOf, oneOf and not must not define structure', () => {
  check(object({ a: text }, { anyOf: [{ properties: { a: { minLength: 1 } } }, { required: ['a'] }] }))
  check(
    object({ a: text }, { not: { type: 'object', description: 'x', nullable: true } }),
    's.not.description: Forbidden: must be empty to be structural',
    's.not.nullable: Forbidden: must be false to be structural',
    's.not.type: Forbidden: must be empty to be structural',
  )
  check(
    object({}, { oneOf: [{ properties: { b: {} } }] }),
    's.properties[b]: Required value: because it is defined in s.oneOf[0].properties[b]',
  )
  check(
    object({ a: text }, { allOf: [{ additionalProperties: true, properties: { metadata: {} } }] }),
    's.allOf[0].additionalProperties: Forbidden: must be undefined to be structural',
    's.allOf[0].properties[metadata]: Forbidden: must not be specified in a nested context',
    's.properties[metadata]: Required value: because it is defined in s.allOf[0].properties[metadata]',
  )
  const numberOrText = [{ type: 'integer' }, { type: 'string' }]
  check(object({ port: { 'x-kubernetes-int-or-string': true, 'anyOf': numberOrText } }))
  check(
    object({
      port: { 'x-kubernetes-int-or-string': true, 'allOf': [{ anyOf: numberOrText }, { minimum: 1 }] },
    }),
  )
})

test('a structural schema may restrict only name and generateName in metadata', () => {
  check(object({ metadata: object({ name: text }), kind: text, apiVersion: text }))
  check(
    object({ metadata: object({ labels: { type: 'object' } }) }),
    's.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is',
  )
  check(
    object({ kind: { type: 'integer' }, metadata: text }),
    's.properties[kind].type: Invalid value: "integer": must be string',
    's.properties[metadata].type: Invalid value: "string": must be object',
  )
  check(
    object({ kind: { ...text, default: 'x' } }),
    's.properties[kind].default: Forbidden: must not be set in top-level',
  )
  const embedded = 'x-kubernetes-embedded-resource'
  check(
    object({ a: { type: 'object', [embedded]: true } }),
    's.properties[a].properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without',
  )
  check(
    object({ a: { ...text, [embedded]: true, properties: { a: text } } }),
    's.properties[a].type: Invalid value: "string": must be object if x-kubernetes-embedded-resource is true',
  )
})

test('unsupported JSON schema keywords are rejected', () => {
  check(
    object({ a: { $ref: '#/x', definitions: { b: text } } }),
    's.properties[a].definitions: Forbidden: definitions is not supported',
    's.properties[a].$ref: Forbidden: $ref is not supported',
  )
  check(
    object({ a: { type: 'array', items: [text] } }),
    's.properties[a].items: Forbidden: items must be a schema object and not an array',
  )
  check(
    object({ a: { type: 'null' } }),
    's.properties[a].type: Unsupported value: "null": supported values: "array", "boolean", "integer", "number", ',
    's.properties[a].type: Forbidden: type cannot be set to null, use nullable as an alternative',
  )
  check(
    object({ a: { type: 'array', items: text, uniqueItems: true } }),
    's.properties[a].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes',
  )
  check(
    object({ a: object({ b: text }, { additionalProperties: false }) }),
    's.properties[a].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive',
  )
  check(
    object({ a: { 'type': 'object', 'x-kubernetes-preserve-unknown-fields': false } }),
    's.properties[a].x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined',
  )
  check(object({}, { nullable: true }), 's.nullable: Forbidden: nullable cannot be true at the root')
})

test('validation of x-kubernetes list and map types', () => {
  const list = (change: object) => object({ a: { type: 'array', items: text, ...change } })
  const field = 's.properties[a]'
  const name = 'x-kubernetes-list-type'
  const keys = 'x-kubernetes-list-map-keys'
  check(list({ [name]: 'set' }))
  check(
    list({ [name]: 'bag' }),
    `${field}.${name}: Unsupported value: "bag": supported values: "atomic", "set", "map"`,
  )
  check(
    object({ a: { ...text, [name]: 'set', 'x-kubernetes-map-type': 'x' } }),
    `${field}.type: Invalid value: "string": must be object if x-kubernetes-map-type is specified`,
    `${field}.x-kubernetes-map-type: Unsupported value: "x": supported values: "atomic", "granular"`,
    `${field}.type: Invalid value: "string": must be array if ${name} is specified`,
  )
  check(
    list({ [name]: 'set', items: { type: 'object', nullable: true } }),
    `${field}.items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with ${name}=set`,
    `${field}.items.nullable: Forbidden: cannot be nullable when ${name} is set`,
  )
  check(list({ [keys]: ['k'] }), `${field}.${name}: Required value: must be map if ${keys} is non-empty`)
  check(
    list({ [name]: 'map' }),
    `${field}.${keys}: Required value: must not be empty if ${name} is map`,
    `${field}.items.type: Invalid value: "string": must be object if parent array's ${name} is map`,
  )
  check(list({ [name]: 'map', [keys]: ['k'], items: object({ k: text }, { required: ['k'] }) }))
  check(
    list({ [name]: 'map', [keys]: ['k', 'x', 'k'], items: object({ k: { ...text, nullable: true } }) }),
    `${field}.${keys}: Invalid value: ["k","x","k"]: entries must all be names of item properties`,
    `${field}.${keys}: Invalid value: ["k","x","k"]: must not contain duplicate entries`,
    `${field}.items.properties[k].default: Required value: this property is in ${keys}, so it must have a default`,
    `${field}.items.properties[k].nullable: Forbidden: this property is in ${keys}, so it cannot be nullable`,
    `${field}.items.properties[k].default`,
    `${field}.items.properties[k].nullable`,
  )
})

test('validation of x-kubernetes-validations message and fieldPath', () => {
  const rule = (change: object) => object({ a: text }, { 'x-kubernetes-validations': [change] })
  const field = 's.x-kubernetes-validations[0]'
  check(rule({ rule: 'self.a != ""', fieldPath: '.a' }))
  check(rule({}), `${field}.rule: Required value: rule is not specified`)
  check(
    rule({ rule: 'a\nb' }),
    `${field}.message: Required value: message must be specified if rule contains line breaks`,
  )
  check(
    rule({ rule: 'a', message: 'b\nc', messageExpression: ' ', reason: 'x', fieldPath: '.b' }),
    `${field}.message: Invalid value: "b\\nc": must not contain line breaks`,
    `${field}.messageExpression: Required value: messageExpression must be non-empty if specified`,
    `${field}.reason: Unsupported value: "x": supported values: "FieldValueDuplicate", "FieldValueForbidden", "Fiel`,
    `${field}.fieldPath: Invalid value: ".b": must be a valid path`,
  )
})

test('with the status subresource the root schema allows few keywords', () => {
  const root = (schema: object) => validateSchema('s', schema as JSONSchemaProps, true).map(formatFieldError)
  assert.deepEqual(root(object({ a: text })), [])
  assertErrors(root(object({ a: text }, { maxProperties: 1 })), ['s: Invalid value: {"type":"object"'])
  assertErrors(root({ type: 'array', items: text }), [
    's.type: Invalid value: "array": only "object" is allowed as',
    's.type: Invalid value: "array": must be object at the root',
  ])
})

test('schemas with unusual names and of great depth are validated', () => {
  check(
    JSON.parse('{"type":"object","properties":{"__proto__":{},"constructor":{"type":"string"}}}'),
    's.properties[__proto__].type: Required value',
  )
  let deep: object = text
  for (let level = 0; level < 490; level++) deep = object({ a: deep })
  check(deep)
})

test('patterns must be valid Go regular expressions', () => {
  const cases: readonly (readonly [string, string?])[] = [
    ['^[a-z]([-a-z0-9]*[a-z0-9])?$'],
    ['(?i)abc'],
    ['(?P<name>a)|(?<other>b)'],
    ['[[:alpha:]]+'],
    ['[]a]'],
    ['\\Q(\\E\\.\\d{1,3}?'],
    ['a{2,}'],
    ['{'],
    ['\\pL\\x{10FFFF}'],
    ['^(?:a|b)*$'],
    [''],
    ['(a', 'missing closing ): `(a`'],
    ['a)', 'unexpected ): `a)`'],
    ['[a', 'missing closing ]: `[a`'],
    ['*a', 'missing argument to repetition operator: `*`'],
    ['(|+)', 'missing argument to repetition operator: `+`'],
    ['a**', 'invalid nested repetition operator: `**`'],
    ['(?=a)', 'invalid or unsupported Perl syntax: `(?=`'],
    ['(?<!a)', 'invalid named capture: `(?<!a)`'],
    ['(a)\\1', 'invalid escape sequence: `\\1`'],
    ['a\\', 'trailing backslash at end of expression: ``'],
    ['\\y', 'invalid escape sequence: `\\y`'],
    ['a{1,1001}', 'invalid repeat count: `{1,1001}`'],
  ]
  const detailsOf = (pattern: string): string[] => {
    return validateSchema('s', object({ a: { ...text, pattern } }), false).map(({ detail }) => detail)
  }
  const head = "must be a valid regular expression, but isn't: error parsing regexp: "
  for (const [pattern, problem] of cases) {
    assert.deepEqual(detailsOf(pattern), problem === undefined ? [] : [head + problem], pattern)
  }
  for (const unit of ['(', '[', '[[:', '(?', '(?P<', '(?i']) {
    assert.equal(detailsOf(unit.repeat(200_000)).length, 1, unit)
  }
  check(
    object({ a: { ...text, pattern: '(?!a)' } }),
    's.properties[a].pattern: Invalid value: "(?!a)": must be a valid regular expression, but isn\'t: error parsing',
  )
})
