import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseSinceTime } from './since-time.ts'

test('times are converted to UTC and whole seconds', () => {
  const check = (text: string, expected: string): void => assert.equal(parseSinceTime(text), expected)
  check('2026-05-04T03:02:01Z', '2026-05-04T03:02:01Z')
  check('2026-05-04T03:02:01.9Z', '2026-05-04T03:02:01Z')
  check('2026-05-04T03:02:01+02:00', '2026-05-04T01:02:01Z')
})

test('a time that is none is refused with the reason of Go', () => {
  const check = (text: string, reason: string): void => {
    assert.throws(() => parseSinceTime(text), { message: `parsing time "${text}"${reason}` })
  }
  const layout = ' as "2006-01-02T15:04:05Z07:00": cannot parse'
  check('x', `${layout} "x" as "2006"`)
  check('2026', `${layout} "" as "-"`)
  check('2026-05-04', `${layout} "" as "T"`)
  check('2026-05-04 03:02:01Z', `${layout} " 03:02:01Z" as "T"`)
  check('2026-05-04T03:02:01', `${layout} "" as "Z07:00"`)
  check('2026-13-04T03:02:01Z', ': month out of range')
  check('2026-02-30T03:02:01Z', ': day out of range')
  check('2026-05-04T24:02:01Z', ': hour out of range')
  check('2026-05-04T03:02:01Zx', ': extra text: "x"')
})
