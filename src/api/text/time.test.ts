import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  formatMicroTime,
  formatTime,
  isMicroTime,
  isTime,
  normalizeMicroTime,
  normalizeTime,
  parseMicroTime,
  parseTime,
} from './time.ts'

function check(text: string, expected: number | undefined): void {
  assert.equal(parseTime(text), expected, text.slice(0, 60))
  assert.equal(isTime(text), expected !== undefined)
}

test('times with offsets and fractions are parsed', () => {
  check('1970-01-01T00:00:00Z', 0)
  check('1970-01-01T00:00:01.5Z', 1500)
  check('1970-01-01T01:00:00+01:00', 0)
  check('1969-12-31T23:30:00-00:30', 0)
  check('2026-05-04T03:02:01Z', Date.UTC(2026, 4, 4, 3, 2, 1))
  check('2024-02-29T23:59:59.123456789Z', Date.UTC(2024, 1, 29, 23, 59, 59) + 123.456789)
  check('0001-01-01T00:00:00Z', -62135596800000)
  check('0000-01-01T00:00:00Z', -62167219200000)
  check('9999-12-31T23:59:59Z', 253402300799000)
  check(`1970-01-01T00:00:00.${'0'.repeat(100_000)}1Z`, 0)
})

test('invalid RFC 3339 times are rejected', () => {
  const refused = `
    2023-02-29T00:00:00Z 2100-02-29T00:00:00Z 2024-02-30T00:00:00Z 2024-13-01T00:00:00Z 2024-00-01T00:00:00Z
    2024-04-31T00:00:00Z 2024-01-00T00:00:00Z 2024-01-01T24:00:00Z 2024-01-01T00:60:00Z 2024-01-01T23:59:60Z
    2024-01-01T00:00:00 2024-01-01T00:00:00z 2024-01-01t00:00:00Z 2024-01-01T00:00:00.Z 2024-01-01T00:00:00,5Z
    2024-01-01T00:00:00+24:00 2024-01-01T00:00:00+01:60 2024-01-01T00:00:00+0100 2024-01-01T00:00:00+01
    2024-01-01 2024-1-1T00:00:00Z 24-01-01T00:00:00Z 12024-01-01T00:00:00Z
    -2024-01-01T00:00:00Z 2024-01-01T0:00:00Z now 1714791721 null __proto__`
  for (const text of ['', ' ', ' 2024-01-01T00:00:00Z', '2024-01-01T00:00:00Z\n', '2024-01-01 00:00:00Z']) {
    check(text, undefined)
  }
  for (const text of refused.trim().split(/\s+/)) check(text, undefined)
  check('2'.repeat(1_000_000), undefined)
})

test('MicroTime has exactly six fractional digits', () => {
  assert.equal(parseMicroTime('1970-01-01T00:00:01.000250Z'), 1000.25)
  assert.equal(parseMicroTime('1970-01-01T02:00:00.500000+02:00'), 500)
  const refused = [
    '1970-01-01T00:00:01Z',
    '1970-01-01T00:00:01.5Z',
    '1970-01-01T00:00:01.0000005Z',
    '2023-02-29T00:00:00.000000Z',
  ]
  for (const text of refused) assert.equal(isMicroTime(text), false, text)
})

test('Time is truncated to seconds, MicroTime rounded to microseconds', () => {
  assert.equal(formatTime(0), '1970-01-01T00:00:00Z')
  assert.equal(formatTime(1999.9), '1970-01-01T00:00:01Z')
  assert.equal(formatTime(-1), '1969-12-31T23:59:59Z')
  assert.equal(formatTime(Date.UTC(2026, 4, 4, 3, 2, 1)), '2026-05-04T03:02:01Z')
  assert.equal(formatMicroTime(0), '1970-01-01T00:00:00.000000Z')
  assert.equal(formatMicroTime(1000.25), '1970-01-01T00:00:01.000250Z')
  assert.equal(formatMicroTime(-0.001), '1969-12-31T23:59:59.999999Z')
  assert.equal(formatMicroTime(999.9999), '1970-01-01T00:00:01.000000Z')
})

test('formatting times beyond year 9999 throws', () => {
  for (const milliseconds of [Number.NaN, Infinity, -62167219200001, 253402300800000, 1e300]) {
    assert.throws(() => formatTime(milliseconds), RangeError)
    assert.throws(() => formatMicroTime(milliseconds), RangeError)
  }
})

test('times are canonicalized to UTC and the precision of the type', () => {
  assert.equal(normalizeTime('2024-01-01T00:30:00.9+01:00'), '2023-12-31T23:30:00Z')
  assert.equal(normalizeTime('2024-01-01T00:00:00Z'), '2024-01-01T00:00:00Z')
  assert.equal(normalizeTime('2023-02-29T00:00:00Z'), undefined)
  assert.equal(normalizeTime('0000-01-01T00:00:00+01:00'), undefined)
  assert.equal(normalizeTime('x'), undefined)
  assert.equal(normalizeMicroTime('2024-01-01T00:30:00.123456+01:00'), '2023-12-31T23:30:00.123456Z')
  assert.equal(normalizeMicroTime('2024-01-01T00:30:00Z'), undefined)
})

const seconds = fc.integer({ min: -62167219200, max: 253402300799 })

test('formatted times round trip', () => {
  fc.assert(
    fc.property(seconds, second => {
      assert.equal(parseTime(formatTime(second * 1000)), second * 1000)
      assert.equal(normalizeTime(formatTime(second * 1000)), formatTime(second * 1000))
    }),
  )
  const micros = fc.integer({ min: 0, max: 4_000_000_000_000_000 })
  fc.assert(
    fc.property(micros, micro => {
      const text = formatMicroTime(micro / 1000)
      assert.equal(Math.round((parseMicroTime(text) ?? Number.NaN) * 1000), micro)
      assert.equal(normalizeMicroTime(text), text)
    }),
  )
})

test('parsing any text as time never throws', () => {
  const pieces = fc.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/)
  fc.assert(
    fc.property(fc.oneof(pieces, fc.string()), text => {
      const normal = normalizeTime(text)
      if (normal !== undefined) assert.equal(isTime(normal), true)
      normalizeMicroTime(text)
    }),
  )
})
