import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  checkPercent,
  isIntOrString,
  parseIntOrString,
  percentOf,
  scaledValueRoundedDown,
  scaledValueRoundedUp,
  type IntOrString,
} from './int-or-string.ts'

test('IntOrString accepts strings and int32', () => {
  for (const value of ['', 'http', '25%', 0, -5, 2147483647, -2147483648]) {
    assert.equal(isIntOrString(value), true)
  }
  for (const value of [1.5, 2147483648, Number.NaN, Infinity, null, undefined, true, [], {}, 5n]) {
    assert.equal(isIntOrString(value), false)
  }
})

test('IntOrString is parsed from flags', () => {
  const cases = {
    80: 80,
    '-1': -1,
    'http': 'http',
    '25%': '25%',
    2147483648: '2147483648',
    '': '',
    '1.5': '1.5',
  }
  for (const [text, expected] of Object.entries(cases)) assert.equal(parseIntOrString(text), expected)
})

test('percentages and counts are scaled, rounding up or down', () => {
  const check = (value: IntOrString, total: number, up?: number, down?: number): void => {
    const scaled = [scaledValueRoundedUp(value, total), scaledValueRoundedDown(value, total)]
    assert.deepEqual(scaled, [up, down], `${value}`)
  }
  check(3, 10, 3, 3)
  check(-1, 10, -1, -1)
  check('25%', 10, 3, 2)
  check('25%', 8, 2, 2)
  check('100%', 7, 7, 7)
  check('0%', 7, 0, 0)
  check('1%', 1, 1, 0)
  check('150%', 3, 5, 4)
  check('33%', 0, 0, 0)
  check('-10%', 1, 0, -1)
  const huge = `${'9'.repeat(100_000)}%`
  for (const bad of ['', '%', '25', '%25', '25%%', '2 5%', 'x%', '1.5%', '1e2%', huge, '__proto__']) {
    check(bad, 10)
  }
})

test('percentOf returns the percentage', () => {
  assert.equal(percentOf('25%'), 25)
  assert.equal(percentOf(25), undefined)
  assert.equal(percentOf('25'), undefined)
})

test('checkPercent describes the expected format', () => {
  assert.deepEqual(checkPercent('93%'), [])
  const message =
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  " +
    "or '93%', regex used for validation is '[0-9]+%')"
  for (const bad of ['', '%', '-1%', '1', '1%\n', 'x'.repeat(1_000_000)]) {
    assert.deepEqual(checkPercent(bad), [message])
  }
})

test('scaled values rounded up and down differ by at most one', () => {
  fc.assert(
    fc.property(fc.nat(200), fc.nat(100_000), (percent, total) => {
      const up = scaledValueRoundedUp(`${percent}%`, total) ?? Number.NaN
      const down = scaledValueRoundedDown(`${percent}%`, total) ?? Number.NaN
      assert.ok(down * 100 <= percent * total && percent * total <= up * 100)
      assert.ok(up - down <= 1)
    }),
  )
})
