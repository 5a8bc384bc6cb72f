import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatFieldError } from '#/api/field-error.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { customResourceDefinitionHooks } from './definition-hooks.ts'

function definitionOf(spec: object): KubernetesObject {
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec } } }
  const versions = [{ name: 'v1', served: true, storage: true, schema }]
  return { metadata: { name: 'things.example.com' }, spec: { versions } } as KubernetesObject
}

const root = 'spec.validation.openAPIV3Schema.properties[spec]'

/** The errors of a schema for `spec`, without the path of that schema. */
async function errorsOf(spec: object, oldSpec?: object): Promise<string[]> {
  const old = oldSpec && definitionOf(oldSpec)
  const clock = { turn: () => Promise.resolve() }
  const errors = (await customResourceDefinitionHooks.validate?.(definitionOf(spec), old, { clock })) ?? []
  return errors.map(error => formatFieldError(error).replaceAll(root, ''))
}

async function check(spec: object, ...expected: string[]): Promise<void> {
  assert.deepEqual(await errorsOf(spec), expected)
}

function structOf(properties: object, more: object = {}): object {
  return { type: 'object', properties, ...more }
}

function embedded(more: object): object {
  return {
    'type': 'object',
    'x-kubernetes-embedded-resource': true,
    'x-kubernetes-preserve-unknown-fields': true,
    ...more,
  }
}

function ruled(schema: object, ...rules: (string | object)[]): object {
  const validations = rules.map(rule => (typeof rule === 'string' ? { rule } : rule))
  return { ...schema, 'x-kubernetes-validations': validations }
}

const text = { type: 'string' }
const integer = { type: 'integer' }

test('a default in a CRD must satisfy its schema', async () => {
  await check(structOf({ a: { ...integer, default: 1 } }))
  await check(
    structOf({ a: { ...integer, default: 'x' } }),
    '.properties[a].default: Invalid value: "string":  in body must be of type integer: "string"',
  )
  await check(
    structOf({ a: structOf({ b: text, c: text }, { required: ['c'], default: { b: 1 } }) }),
    '.properties[a].default.b: Invalid value: "integer": b in body must be of type string: "integer"',
    '.properties[a].default.c: Required value',
  )
  await check(
    structOf({ a: { type: 'array', items: { ...text, enum: ['x'], default: 'y' } } }),
    '.properties[a].items.default: Unsupported value: "y": supported values: "x"',
  )
  await check(
    structOf({ a: { type: 'object', additionalProperties: integer, default: { k: 'x' } } }),
    '.properties[a].default.k: Invalid value: "string": .k in body must be of type integer: "string"',
  )
  await check(structOf({ a: { ...text, default: null } }))
})

test('a default in a CRD must not have fields that pruning drops', async () => {
  const unknown = 'must not have unknown fields'
  const schema = { a: structOf({ b: text }, { default: { b: 'x', c: 1 } }) }
  await check(structOf(schema), `.properties[a].default: Invalid value: {"b":"x","c":1}: ${unknown}`)
  const preserving = { 'x-kubernetes-preserve-unknown-fields': true }
  await check(structOf({ a: structOf({ b: text }, { ...preserving, default: { c: 1 } }) }))
  await check(
    structOf({ a: structOf({ b: structOf({}) }, { ...preserving, default: { b: { c: 1 } } }) }),
    `.properties[a].default: Invalid value: {"b":{"c":1}}: ${unknown}`,
  )
  await check(
    structOf({ a: { type: 'array', items: structOf({}), default: [{ c: 1 }] } }),
    `.properties[a].default: Invalid value: [{"c":1}]: ${unknown}`,
  )
  const items = { type: 'array', items: structOf({ b: structOf({}) }), ...preserving }
  await check(structOf({ a: { ...items, default: [{ c: 1, b: {} }] } }))
  // A definition that was stored with such defaults can still be changed.
  assert.deepEqual(await errorsOf(structOf({ ...schema, added: text }), structOf(schema)), [])
})

test('a default of an embedded resource must have a type and valid metadata', async () => {
  await check(
    structOf({ a: embedded({ default: { kind: '' } }) }),
    '.properties[a].default.apiVersion: Required value',
    '.properties[a].default.kind: Invalid value: "": must not be empty',
  )
  await check(
    structOf({ a: embedded({ default: { apiVersion: 1, kind: 2, metadata: 3 } }) }),
    '.properties[a].default.apiVersion: Invalid value: 1: must be a string',
  )
  const metadata = { name: 'a', labels: { a: 1 } }
  await check(
    structOf({ a: embedded({ default: { apiVersion: 'v1', kind: 'Pod', metadata } }) }),
    '.properties[a].default.metadata: Invalid value: {"name":"a","labels":{"a":1}}: ' +
      'json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string',
  )
})

test('a default inside of the metadata of an embedded resource must result in valid metadata', async () => {
  const finalizers = { type: 'array', items: { ...text, default: 'a/b' } }
  await check(structOf({ a: embedded({ properties: { metadata: structOf({ finalizers }) } }) }))
  await check(
    structOf({ a: embedded({ properties: { metadata: structOf({ name: { ...text, default: 'a/b' } }) } }) }),
    '.properties[a].properties[metadata].properties[name].default: Invalid value: "a/b": ' +
      `must result in valid metadata: metadata.name: Invalid value: "a/b": may not contain '/'`,
  )
  await check(
    structOf({ a: embedded({ properties: { kind: { ...text, default: '' } } }) }),
    '.properties[a].properties[kind].default: Invalid value: "": ' +
      'must result in valid metadata: kind: Invalid value: "": must not be empty',
  )
})

test('a default in a CRD must satisfy its rules, both unchanged and new', async () => {
  await check(
    structOf({ a: ruled({ ...integer, default: 5 }, 'self < 3') }),
    '.properties[a].default: Invalid value: 5: failed rule: self < 3',
  )
  const whenNew = { rule: 'oldSelf.hasValue() || self > 1', optionalOldSelf: true }
  await check(
    structOf({ a: ruled({ ...integer, default: 1 }, whenNew) }),
    '.properties[a].default: Invalid value: 1: failed rule: oldSelf.hasValue() || self > 1',
  )
  await check(
    structOf({ a: ruled({ ...integer, default: 1 }, 'self != oldSelf') }),
    '.properties[a].default: Invalid value: 1: failed rule: self != oldSelf',
  )
  const items = { type: 'array', items: ruled(integer, 'self < 3'), default: [1, 3] }
  await check(structOf({ a: items }), '.properties[a].default[1]: Invalid value: 3: failed rule: self < 3')
  await check(
    structOf({ a: ruled({ ...integer, default: 1 }, 'self') }),
    '.properties[a].default: Invalid value: "integer": rule compile error: cel expression must evaluate to a bool',
  )
})

test('rules of a CRD must compile to conditions and messages', async () => {
  const rule = '.properties[a].x-kubernetes-validations[0]'
  await check(
    structOf({ a: ruled(integer, 'self') }),
    `${rule}.rule: Invalid value: {"rule":"self"}: cel expression must evaluate to a bool`,
  )
  const intOrString = { 'x-kubernetes-int-or-string': true }
  await check(
    structOf({ a: ruled(intOrString, 'self') }),
    `${rule}.rule: Invalid value: {"rule":"self"}: cel expression must evaluate to a bool`,
  )
  await check(
    structOf({ a: ruled(integer, { rule: 'true', messageExpression: 'self' }) }),
    `${rule}.messageExpression: Invalid value: {"rule":"true","messageExpression":"self"}: ` +
      'messageExpression must evaluate to a string',
  )
  await check(
    structOf({ a: ruled(integer, { rule: 'self > 0', optionalOldSelf: true }) }),
    `${rule}.optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule`,
  )
})

test('a rule of a CRD inside of a list without keys has no old value', async () => {
  const inner = structOf({ b: ruled(integer, 'self == oldSelf') })
  await check(
    structOf({ a: { type: 'array', items: inner } }),
    '.properties[a].items.properties[b].x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": ' +
      'oldSelf cannot be used on the uncorrelatable portion of the schema within .properties[a]',
  )
})

test('rules of a schema with other errors are not compiled', async () => {
  await check(structOf({ a: ruled(integer, { rule: 'self', message: ' ' }) }))
})
