import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { quote, showValue } from './quote.ts'

test('quote quotes strings like Go', () => {
  const check = (text: string, expected: string): void => assert.equal(quote(text), expected)
  check('', '""')
  check('web-0', '"web-0"')
  check('a"b\\c', '"a\\"b\\\\c"')
  check('\x07\b\f\n\r\t\v', '"\\a\\b\\f\\n\\r\\t\\v"')
  check('\x00\x1f\x7f', '"\\x00\\x1f\\x7f"')
  check('<é>&日本🎉', '"<é>&日本🎉"')
  check('\u0085\u00a0\u2028\ufeff', '"\\u0085\\u00a0\\u2028\\ufeff"')
  check('\u{e0001}', '"\\U000e0001"')
  check('\ud800x', '"\ufffdx"')
})

test('showValue formats values as JSON, including bigints', () => {
  const check = (value: unknown, expected: string): void => assert.equal(showValue(value, 100), expected)
  check(undefined, 'null')
  check(null, 'null')
  check(12, '12')
  check(-1.5, '-1.5')
  check(true, 'true')
  check(9223372036854775807n, '9223372036854775807')
  check('a\nb', '"a\\nb"')
  check([], '[]')
  check({}, '{}')
  check(
    { a: [1, null, 'x<y>&'], b: undefined, c: { d: 2n } },
    '{"a":[1,null,"x\\u003cy\\u003e\\u0026"],"c":{"d":2}}',
  )
  check([undefined, Number.NaN], '[null,null]')
  check(JSON.parse('{"__proto__":1}'), '{"__proto__":1}')
})

test('showValue truncates between characters', () => {
  assert.equal(showValue('a'.repeat(11), 10), '"aaaaaaaaaa"...')
  assert.equal(showValue('aaaaaaaaa🎉', 10), '"aaaaaaaaa"...')
  assert.equal(showValue([1, 2, 3, 4, 5, 6], 6), '[1,2,3...')
  assert.equal(showValue({ a: 'b'.repeat(50) }, 10), '{"a":"bbbb...')
})

test('showValue output within the limit is valid JSON', () => {
  fc.assert(
    fc.property(fc.jsonValue(), value => {
      fc.pre(typeof value !== 'string')
      assert.deepEqual(JSON.parse(showValue(value, 1e9)), JSON.parse(JSON.stringify(value)))
    }),
  )
})

test('showValue cost is bounded by the limit', () => {
  let deep: unknown = 1
  for (let level = 0; level < 100_000; level++) deep = [deep]
  assert.equal(showValue(deep, 5), '[[[[[...')
  assert.equal(showValue({ a: Array.from({ length: 100_000 }, () => ({})) }, 12), '{"a":[{},{},...')
  assert.ok(showValue('\x00'.repeat(1_000_000), 1_000).length < 5_000)
})
