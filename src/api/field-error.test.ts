import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  duplicate,
  fieldErrorMessage,
  forbiddenField,
  formatFieldError,
  formatFieldErrors,
  internalFieldError,
  invalid,
  invalidEach,
  invalidObject,
  notFoundField,
  notSupported,
  required,
  tooFew,
  tooLong,
  tooLongCharacters,
  tooMany,
  tooShort,
  wrongType,
  type FieldError,
} from './field-error.ts'

function check(error: FieldError, expected: string): void {
  assert.equal(formatFieldError(error), expected)
}

test('field errors have the text of Kubernetes 1.36', () => {
  check(required('spec.x', ''), 'spec.x: Required value')
  check(required('spec.x', 'why'), 'spec.x: Required value: why')
  check(invalid('spec.x', 'a', 'must be b'), 'spec.x: Invalid value: "a": must be b')
  check(notSupported('spec.x', 'a', ['c', 'b']), 'spec.x: Unsupported value: "a": supported values: "c", "b"')
  check(notSupported('spec.x', 'a', []), 'spec.x: Unsupported value: "a"')
  check(duplicate('spec.x', 'a'), 'spec.x: Duplicate value: "a"')
  check(forbiddenField('spec.x', 'no'), 'spec.x: Forbidden: no')
  check(notFoundField('spec.x', 'a'), 'spec.x: Not found: "a"')
  check(tooLong('spec.x', 63), 'spec.x: Too long: may not be more than 63 bytes')
  check(tooLong('spec.x', 1), 'spec.x: Too long: may not be more than 1 byte')
  check(tooLongCharacters('spec.x', 5), 'spec.x: Too long: may not be more than 5 characters')
  check(tooShort('spec.x', 1), 'spec.x: Too short: must be at least 1 character')
  check(tooMany('spec.x', 17, 16), 'spec.x: Too many: 17: must have at most 16 items')
  check(tooMany('spec.x', 2, 1), 'spec.x: Too many: 2: must have at most 1 item')
  check(tooFew('spec.x', 0, 2), 'spec.x: Too few: 0: must have at least 2 items')
  check(wrongType('spec.x', 'a', 'must be an integer'), 'spec.x: Invalid value: "a": must be an integer')
  check(internalFieldError('spec.x', 'oops'), 'spec.x: Internal error: oops')
})

test('invalid values are formatted by type', () => {
  check(invalid('x', -1, 'no'), 'x: Invalid value: -1: no')
  check(invalid('x', 2n ** 62n, 'no'), 'x: Invalid value: 4611686018427387904: no')
  check(invalid('x', true, 'no'), 'x: Invalid value: true: no')
  check(invalid('x', null, 'no'), 'x: Invalid value: null: no')
  check(invalid('x', undefined, 'no'), 'x: Invalid value: null: no')
  check(invalid('x', 'a\x00"', ''), 'x: Invalid value: "a\\x00\\""')
  check(invalid('x', ['a'], 'no'), 'x: Invalid value: ["a"]: no')
  check(
    invalid('x', { matchLabels: { app: 'web' } }, 'no'),
    'x: Invalid value: {"matchLabels":{"app":"web"}}: no',
  )
})

test('long values in field errors are truncated', () => {
  assert.ok(fieldErrorMessage(invalid('x', 'a'.repeat(1_000_000), 'no')).length < 1_100)
})

test('several field errors are bracketed and deduplicated', () => {
  const errors = [required('a', ''), required('b', ''), required('a', '')]
  assert.equal(formatFieldErrors(errors), '[a: Required value, b: Required value]')
  assert.equal(formatFieldErrors([required('a', ''), required('a', '')]), 'a: Required value')
  assert.deepEqual(invalidEach('a', 'v', ['one', 'two']), [
    invalid('a', 'v', 'one'),
    invalid('a', 'v', 'two'),
  ])
})

test('invalidObject lists every field error as a cause', () => {
  const subject = { group: 'apps', kind: 'Deployment', name: 'web' }
  const { status } = invalidObject(subject, [required('spec.a', 'x'), invalid('spec.b', 3, 'y')])
  assert.deepEqual(status, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    reason: 'Invalid',
    code: 422,
    message: 'Deployment.apps "web" is invalid: [spec.a: Required value: x, spec.b: Invalid value: 3: y]',
    details: {
      name: 'web',
      group: 'apps',
      kind: 'Deployment',
      causes: [
        { reason: 'FieldValueRequired', message: 'Required value: x', field: 'spec.a' },
        { reason: 'FieldValueInvalid', message: 'Invalid value: 3: y', field: 'spec.b' },
      ],
    },
  })
})

test('invalidObject with one error has no brackets, without errors no list', () => {
  const subject = { group: '', kind: 'Pod', name: 'a' }
  assert.equal(
    invalidObject(subject, [required('spec', '')]).message,
    'Pod "a" is invalid: spec: Required value',
  )
  const none = invalidObject({ group: '', kind: 'Pod' }, [])
  assert.equal(none.message, 'Pod "" is invalid')
  assert.deepEqual(none.status.details, { kind: 'Pod' })
})
