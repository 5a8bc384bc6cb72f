import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LogFilter, type LogSelection } from './log-filter.ts'
import { fixedTime, parseLogLine, timeNanoseconds } from './log-line.ts'

/** `1o one` is a line of second 1 on stdout, `2e+ tw` a partial line of second 2 on stderr. */
function logFile(...lines: readonly string[]): string {
  return lines.map(fileLine).join('')
}

function fileLine(text: string): string {
  const [, second = '', stream = '', partial = '', rest = ''] = /^(\d+)([oe])(\+?) ?(.*)$/s.exec(text) ?? []
  const time = `2024-01-01T00:00:${second.padStart(2, '0')}.5Z`
  return `${time} ${stream === 'o' ? 'stdout' : 'stderr'} ${partial ? 'P' : 'F'} ${rest}\n`
}

function shown(file: string, selection: Partial<LogSelection> = {}, pieceLength = Infinity): string {
  const filter = new LogFilter({ timestamps: false, ...selection })
  const bytes = Buffer.from(file)
  const parts: Uint8Array[] = []
  for (let at = 0; at < bytes.length; at += pieceLength)
    parts.push(filter.take(bytes.subarray(at, at + pieceLength)))
  return Buffer.concat([...parts, filter.finish()]).toString()
}

test('partial log records are joined, independent of read boundaries', () => {
  const file = logFile('1o one', '2o+ two ', '3o+ and ', '4o a half', '5o', '6o  blanks ', '7e \u00e9')
  const expected = 'one\ntwo and a half\n\n blanks \n\u00e9\n'
  for (const length of [1, 2, 3, 7, 50, 1_000]) assert.equal(shown(file, {}, length), expected)
})

test('stream, since time and byte limits filter the log', () => {
  const file = logFile('1o one', '2e two', '3o+ thr', '4o ee', '5e five')
  const since = timeNanoseconds('2024-01-01T00:00:03Z')
  const check = (selection: Partial<LogSelection>, expected: string): void => {
    assert.equal(shown(file, selection), expected)
  }
  check({ stream: 'stdout' }, 'one\nthree\n')
  check({ stream: 'stderr' }, 'two\nfive\n')
  check({ since }, 'three\nfive\n')
  check({ limitBytes: 6 }, 'one\ntw')
  check({ limitBytes: 4 }, 'one\n')
  check(
    { timestamps: true, since },
    '2024-01-01T00:00:03.500000000Z three\n2024-01-01T00:00:05.500000000Z five\n',
  )
  check({ timestamps: true, limitBytes: 12 }, '2024-01-01T0')
})

test('an unfinished record is shown, a malformed one is skipped', () => {
  assert.equal(shown(`${logFile('1o one')}2024-01-01T00:00:02Z stdout F tw`), 'one\ntw')
  assert.equal(shown(`garbage\n\n\0\xff\n2024-01-01T00:00:02Z stdin F x\n${logFile('1o one')}`), 'one\n')
  assert.equal(shown(`${'x'.repeat(3_000_000)}\n${logFile('1o one')}`), 'one\n')
  assert.equal(parseLogLine(Buffer.from('yesterday stdout F x')), undefined)
  assert.equal(parseLogLine(Buffer.from('2024-01-01T00:00:02Z stdout F')), undefined)
})

test('log timestamps keep nanoseconds', () => {
  assert.equal(timeNanoseconds('1970-01-01T00:00:01.000000001Z'), 1_000_000_001n)
  assert.equal(timeNanoseconds('1970-01-01T01:00:01.5+01:00'), 1_500_000_000n)
  assert.equal(timeNanoseconds('2024-13-99T00:00:00Z'), 0n)
  assert.equal(fixedTime('2024-01-01T00:00:00+02:00'), '2024-01-01T00:00:00.000000000+02:00')
})
