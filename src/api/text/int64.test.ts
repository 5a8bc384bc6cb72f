import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compareInt64, int64Max, int64Min, isInt32, isInt64, parseInt64, toInt64 } from './int64.ts'

function check(text: string, expected: number | bigint | undefined): void {
  assert.equal(parseInt64(text), expected, JSON.stringify(text.slice(0, 40)))
}

test('parseInt64 accepts decimal integers only', () => {
  check('0', 0)
  check('-0', 0)
  check('+7', 7)
  check('-12', -12)
  check('007', 7)
  check('9007199254740991', 9007199254740991)
  check('9007199254740993', 9007199254740993n)
  check('9223372036854775807', int64Max)
  check('-9223372036854775808', int64Min)
  check('9223372036854775808', undefined)
  check('-9223372036854775809', undefined)
  check(`${'0'.repeat(100_000)}9223372036854775807`, int64Max)
  check(`-${'0'.repeat(100_000)}`, 0)
  check('9'.repeat(1_000_000), undefined)
  for (const bad of ['', '+', '-', ' 1', '1 ', '1.0', '1e3', '0x1', '--1', '１', '1\n']) check(bad, undefined)
})

test('int64 values round trip', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: int64Min, max: int64Max }), value => {
      assert.equal(parseInt64(value.toString()), toInt64(value))
      assert.equal(isInt64(toInt64(value)), true)
    }),
  )
})

test('int64 is a number if exact, otherwise a bigint', () => {
  assert.equal(toInt64(2n ** 53n - 1n), 2 ** 53 - 1)
  assert.equal(toInt64(2n ** 53n), 2n ** 53n)
  assert.equal(toInt64(-5n), -5)
})

test('isInt32 and isInt64', () => {
  for (const value of [0, -1, 2 ** 31 - 1, -(2 ** 31)]) assert.equal(isInt32(value), true)
  for (const value of [2 ** 31, 1.5, Number.NaN, Infinity, 1n, '1', null, undefined]) {
    assert.equal(isInt32(value), false)
  }
  for (const value of [0, 2 ** 53 - 1, int64Max, int64Min]) assert.equal(isInt64(value), true)
  for (const value of [2 ** 53, 0.5, int64Max + 1n, int64Min - 1n, '1', {}]) {
    assert.equal(isInt64(value), false)
  }
})

test('compareInt64 compares numbers with bigints', () => {
  assert.equal(compareInt64(1, 2n), -1)
  assert.equal(compareInt64(int64Max, 5), 1)
  assert.equal(compareInt64(3n, 3), 0)
})
