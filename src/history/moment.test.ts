import assert from 'node:assert/strict'
import { test } from 'node:test'
import { momentParameter, parseMoment } from './moment.ts'

/** Noon in the local time zone. */
const now = new Date(2026, 4, 20, 12, 0, 0)
const local = (day: number, hour: number, minute: number, second = 0): string =>
  new Date(2026, 4, day, hour, minute, second).toISOString()
const before = (milliseconds: number): string => new Date(now.getTime() - milliseconds).toISOString()

test('a moment is a revision, an RFC 3339 time, a clock time or an age', () => {
  const cases: readonly (readonly [text: string, parameter: string | undefined])[] = [
    ['1', '1'],
    ['104512', '104512'],
    ['0', undefined],
    ['99999999999999999', undefined],
    ['2026-05-20T08:00:00Z', '2026-05-20T08:00:00.000Z'],
    ['2026-05-20t08:00:00.250z', '2026-05-20T08:00:00.250Z'],
    ['2026-05-20T08:00:00+02:00', '2026-05-20T06:00:00.000Z'],
    ['2026-05-20', undefined],
    ['11:30', local(20, 11, 30)],
    ['9:05:07', local(20, 9, 5, 7)],
    ['12:01', local(19, 12, 1)],
    ['24:00', undefined],
    ['12:60', undefined],
    ['10m', before(600_000)],
    ['1h30m', before(5_400_000)],
    ['1.5s', before(1_500)],
    ['2d', before(2 * 86_400_000)],
    ['1d2h', before(26 * 3_600_000)],
    ['-10m', undefined],
    ['10', '10'],
    ['', undefined],
    ['d', undefined],
    ['yesterday', undefined],
    ['999999d', undefined],
  ]
  for (const [text, parameter] of cases) {
    const moment = parseMoment(text, now.getTime())
    assert.equal(moment && momentParameter(moment), parameter, text)
  }
})
