import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareResourceVersions, isNewerResourceVersion } from './resource-version.ts'

test('resourceVersions compare as integers of any length', () => {
  check('9', '<', '10')
  check('10', '=', '10')
  check('100', '>', '99')
  check('18446744073709551616', '>', '18446744073709551615')
  check('0', '<', '1')
})

test('a resourceVersion that is not an integer cannot be compared', () => {
  for (const text of ['', '01', '-1', '1.5', 'abc', '1e3', ' 1', '1'.repeat(100)]) {
    assert.equal(compareResourceVersions(text, '5'), undefined, text)
    assert.equal(compareResourceVersions('5', text), undefined, text)
    assert.equal(isNewerResourceVersion(text, '5'), true, text)
    assert.equal(isNewerResourceVersion(text, text), false, text)
  }
})

function check(left: string, relation: '<' | '=' | '>', right: string): void {
  const order = Math.sign(compareResourceVersions(left, right) ?? NaN)
  assert.equal(order, { '<': -1, '=': 0, '>': 1 }[relation])
  assert.equal(isNewerResourceVersion(left, right), relation === '>')
}
