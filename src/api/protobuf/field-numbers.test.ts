import assert from 'node:assert/strict'
import { test } from 'node:test'
import { definition, definitionNames } from '../definitions.ts'
import { numberedFields, type NumberedField } from './field-numbers.ts'

/** `1 name value` for each field. */
function show(message: string): readonly string[] {
  return (numberedFields(message) ?? []).map(
    ({ number, name, presence, shape }) =>
      `${number} ${name} ${presence}${shape === 'plain' ? '' : ` ${shape}`}`,
  )
}

test('protobuf fields are numbered in order, or from an explicit number', () => {
  assert.deepEqual(show('meta.v1.ManagedFieldsEntry'), [
    '1 manager value',
    '2 operation value',
    '3 apiVersion value',
    '4 time pointer',
    '6 fieldsType value',
    '7 fieldsV1 pointer',
    '8 subresource value',
  ])
})

test('notation marks pointers, always shown fields, embedded and list messages', () => {
  assert.deepEqual(show('core.v1.SecretKeySelector'), [
    '1 LocalObjectReference value embedded',
    '2 key value',
    '3 optional pointer',
  ])
  assert.equal(show('networking.v1.NetworkPolicySpec')[0], '1 podSelector shown')
  assert.equal(show('meta.v1.APIResource')[3], '4 verbs value list-message')
})

test('a message applies to all versions without their own', () => {
  assert.deepEqual(show('resource.v1.Device'), show('resource.v1beta2.Device'))
  assert.deepEqual(show('resource.v1beta1.Device'), ['1 name value', '2 basic pointer'])
})

test('unknown messages have no fields', () => {
  const names = ['core.v1.Nothing', 'nothing.v1.Pod', 'core.v1.__proto__', 'constructor.v1.Pod', '', 'Pod']
  for (const name of names) {
    assert.equal(numberedFields(name), undefined, name)
  }
})

test('every field except apiVersion and kind has a protobuf number', () => {
  for (const name of definitionNames()) {
    const schema = definition(name)
    if (schema.type !== 'struct' || name === 'version.Info') continue
    const numbered = new Set(flat(name).map(field => field.name))
    const missing = [...schema.fields.keys()].filter(field => !numbered.has(field))
    const allowed = missing.length === 0 ? [] : ['apiVersion', 'kind']
    assert.deepEqual(missing.sort(), allowed, name)
    assert.deepEqual(
      [...numbered].filter(field => !schema.fields.has(field)),
      [],
      name,
    )
  }
})

function flat(name: string): readonly NumberedField[] {
  const home = name.slice(0, name.lastIndexOf('.'))
  return (numberedFields(name) ?? []).flatMap(field =>
    field.shape === 'embedded' ? flat(`${home}.${field.name}`) : [field],
  )
}
