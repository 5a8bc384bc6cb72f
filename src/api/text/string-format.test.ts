import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isBase64, isDate, isDateTime, isUuid } from './string-format.ts'

test('string formats are validated', () => {
  const check = (
    format: (text: string) => boolean,
    good: readonly string[],
    bad: readonly string[],
  ): void => {
    for (const text of good) assert.equal(format(text), true, text)
    for (const text of bad) assert.equal(format(text), false, text)
  }
  const uuid = '123e4567-e89b-12d3-a456-426614174000'
  check(
    isUuid,
    [uuid, uuid.toUpperCase(), uuid.replaceAll('-', '')],
    ['', `${uuid}0`, uuid.slice(1), `${uuid}\n`],
  )
  check(
    isBase64,
    ['aGVsbG8=', 'YQ==', 'YWJj'],
    ['', 'YQ', 'YQ=', 'Y===', '====', 'YW-j', 'YWJj\n', 'YQ==YQ=='],
  )
  check(
    isDate,
    ['2024-02-29', '0000-01-01', '2023-12-31'],
    ['2023-02-29', '1900-02-29', '2023-13-01', '2023-1-1'],
  )
  check(
    isDateTime,
    ['2024-01-01T00:00:00Z', '2024-01-01t23:59:59.5z', '2024-01-01T00:00:00+01:00'],
    [
      '',
      '2024-01-01',
      '2024-01-01T24:00:00Z',
      '2024-01-01T00:00:60Z',
      '2024-01-01T00:00:00',
      '2024-13-01T00:00:00Z',
    ],
  )
  assert.equal(isBase64(`${'aaaa'.repeat(500_000)}!`), false)
})
