import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatFieldErrors } from './field-error.ts'
import { formatLabels, labelOf, validateLabelName, validateLabels } from './labels.ts'

test('inherited property names are not labels', () => {
  assert.equal(labelOf({ a: '1', b: '' }, 'a'), '1')
  assert.equal(labelOf({ a: '1', b: '' }, 'b'), '')
  for (const key of ['c', 'constructor', '__proto__', 'toString']) {
    assert.equal(labelOf({ a: '1' }, key), undefined)
  }
  assert.equal(labelOf(JSON.parse('{"__proto__":"x"}'), '__proto__'), 'x')
  assert.equal(labelOf(undefined, 'a'), undefined)
})

test('labels are formatted sorted by key', () => {
  assert.equal(formatLabels({ b: '2', a: '1', c: '' }), 'a=1,b=2,c=')
  assert.equal(formatLabels({}), '')
})

test('validateLabels reports invalid keys and values', () => {
  assert.deepEqual(validateLabels('metadata.labels', undefined), [])
  assert.deepEqual(validateLabels('metadata.labels', { 'a/b': 'c', 'constructor': '' }), [])
  const errors = validateLabels('metadata.labels', { 'bad key': 'ok', 'ok': 'bad value' })
  assert.deepEqual(
    errors.map(({ field, value, reason }) => [field, value, reason]),
    [
      ['metadata.labels', 'bad key', 'FieldValueInvalid'],
      ['metadata.labels', 'bad value', 'FieldValueInvalid'],
    ],
  )
  assert.match(
    formatFieldErrors(validateLabelName('key', '/a')),
    /^key: Invalid value: "\/a": prefix part must be non-empty$/,
  )
})
