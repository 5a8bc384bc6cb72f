import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compareNaturally } from './natural-order.ts'

/** Checks that the names, separated by spaces, are in order. */
function check(names: string): void {
  const expected = names.split(' ')
  assert.deepEqual(expected.toReversed().sort(compareNaturally), expected)
}

test('natural order: digits compare as numbers, symbols precede letters, capitals precede small letters', () => {
  check('web web-1 web-2 web-10 web-10a web-11')
  check('1 2 10 11 a1 a2 a10')
  check('-a .a _ A Z a aB ab é')
  check('v1 v1.2 v1.10 v1alpha1 v1beta1 v2')
  check('a1 a01 a2 a100')
})

test('natural order is antisymmetric', () => {
  const names = fc.string({ unit: fc.constantFrom('0', '1', '9', 'a', 'B', '-'), maxLength: 6 })
  fc.assert(
    fc.property(names, names, (a, b) => {
      assert.equal(Math.sign(compareNaturally(a, b)) + Math.sign(compareNaturally(b, a)), 0)
      assert.equal(compareNaturally(a, b) === 0, a === b)
    }),
    { numRuns: 1000 },
  )
})
