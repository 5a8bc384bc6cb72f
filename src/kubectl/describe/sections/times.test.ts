import assert from 'node:assert/strict'
import { test } from 'node:test'
import { goTime, localTime, timeSince } from './times.ts'

/** Time, time zone, and both formats. */
const cases: readonly (readonly [string | undefined, string, string, string])[] = [
  ['2026-07-04T23:30:00Z', 'UTC', 'Sat, 04 Jul 2026 23:30:00 +0000', '2026-07-04 23:30:00 +0000 UTC'],
  [
    '2026-07-04T23:30:00Z',
    'Europe/Berlin',
    'Sun, 05 Jul 2026 01:30:00 +0200',
    '2026-07-05 01:30:00 +0200 CEST',
  ],
  [
    '2026-01-04T23:30:00Z',
    'Europe/Berlin',
    'Mon, 05 Jan 2026 00:30:00 +0100',
    '2026-01-05 00:30:00 +0100 CET',
  ],
  ['2026-01-01T00:00:00.123456Z', 'Asia/Kolkata', 'Thu, 01 Jan 2026 05:30:00 +0530', ''],
  ['2026-01-01T00:00:00Z', 'America/New_York', 'Wed, 31 Dec 2025 19:00:00 -0500', ''],
  [undefined, 'Europe/Berlin', 'Mon, 01 Jan 0001 00:00:00 +0000', '0001-01-01 00:00:00 +0000 UTC'],
  ['', 'UTC', 'Mon, 01 Jan 0001 00:00:00 +0000', '0001-01-01 00:00:00 +0000 UTC'],
]

for (const [time, timeZone, local, go] of cases) {
  test(`a time is shown in its zone: ${time} in ${timeZone}`, () => {
    assert.equal(localTime(time, { timeZone }), local)
    if (go !== '') assert.equal(goTime(time, { timeZone }), go)
  })
}

test('an age is shown from a known time', () => {
  const nowMs = Date.UTC(2026, 0, 1, 0, 5)
  assert.equal(timeSince('2026-01-01T00:00:00Z', { nowMs }), '5m')
  assert.equal(timeSince('2026-01-01T00:04:50.500000Z', { nowMs }), '9s')
  assert.equal(timeSince(undefined, { nowMs }), '<unknown>')
})
