import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonValue } from '../text/json-value.ts'
import { fieldManagerOf, validateFieldManager } from './field-manager.ts'
import { validateManagedFields } from './validate-managed-fields.ts'

test('field manager names are printable and at most 128 bytes long', () => {
  const check = (name: string, ...details: readonly string[]) => {
    assert.deepEqual(
      validateFieldManager(name).map(({ detail }) => detail),
      details,
    )
  }
  check('kubectl')
  check('Hello, Wörld 漢字!')
  check('a'.repeat(128))
  check('a'.repeat(129), 'may not be more than 128 bytes')
  check('ö'.repeat(65), 'may not be more than 128 bytes')
  check('a\u0007b', 'invalid character U+0007 (at position 1)')
  check('ö\n\u200b', 'invalid character U+000A (at position 2)', 'invalid character U+200B (at position 3)')
  check('\u00a0', 'invalid character U+00A0 (at position 0)')
})

test('the default field manager is the first part of the user agent', () => {
  const check = (fieldManager: string, userAgent: string, expected: string) => {
    assert.equal(fieldManagerOf(fieldManager, userAgent), expected)
  }
  check('mine', 'kubectl/v1.36.0', 'mine')
  check('', 'kubectl/v1.36.0 (linux/amd64)', 'kubectl')
  check('', 'Mozilla 5.0', 'Mozilla 5.0')
  check('', '', '')
  check('', '/x', '')
  check('', 'a\u0000b\tc/1', 'abc')
  check('', `${'ö'.repeat(100)}/1`, 'ö'.repeat(64))
})

test('managed fields sent by clients are validated per entry', () => {
  const sent: JsonValue[] = [
    { operation: 'Apply', manager: 'a', fieldsType: 'FieldsV1' },
    { manager: 'a\n' },
    { operation: 'Delete', fieldsType: 'V2', subresource: 's'.repeat(257) },
    null,
  ]
  const errors = validateManagedFields(sent, 'metadata.managedFields')
  assert.deepEqual(
    errors.map(({ field, reason }) => `${field} ${reason}`),
    [
      'metadata.managedFields[1].operation FieldValueRequired',
      'metadata.managedFields[1].manager FieldValueInvalid',
      'metadata.managedFields[2].operation FieldValueNotSupported',
      'metadata.managedFields[2].fieldsType FieldValueInvalid',
      'metadata.managedFields[2].subresource FieldValueTooLong',
      'metadata.managedFields[3] FieldValueTypeInvalid',
    ],
  )
})
