import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LogBuffer, parseLogLine, type LogLine } from './log-buffer.ts'

const line = (source: string, second: number): LogLine => ({
  source,
  time: `2026-01-01T00:00:0${second}Z`,
  text: '',
})

function check(batches: readonly (readonly LogLine[])[], expected: string, dropped = 0): void {
  const buffer = new LogBuffer({ linesMax: 4 })
  for (const batch of batches) buffer.push(batch)
  assert.equal(buffer.lines.map(({ source, time }) => `${source}${time.at(-2)}`).join(' '), expected)
  assert.equal(buffer.dropped, dropped)
}

test('LogBuffer merges sources by time and keeps the latest lines', () => {
  check(
    [
      [line('a', 1), line('a', 3)],
      [line('b', 2), line('b', 4)],
    ],
    'a1 b2 a3 b4',
  )
  check([[line('a', 1)], [line('b', 1)], [line('a', 1)]], 'a1 b1 a1')
  check([[line('a', 1), line('a', 2), line('a', 3), line('a', 4), line('a', 5)]], 'a2 a3 a4 a5', 1)
  check([[line('a', 2), line('a', 3), line('a', 4), line('a', 5)], [line('b', 1)]], 'a2 a3 a4 a5', 1)
})

test('parseLogLine separates the time that the kubelet adds', () => {
  const check = (text: string, time: string, rest: string): void =>
    assert.deepEqual(parseLogLine('a', text), { source: 'a', time, text: rest })
  check('2026-01-01T00:00:01.123456789Z hello world', '2026-01-01T00:00:01.123456789Z', 'hello world')
  check('2026-01-01T00:00:01+01:00  indented', '2026-01-01T00:00:01+01:00', ' indented')
  check('2026-01-01T00:00:01Z', '2026-01-01T00:00:01Z', '')
  check('no time', '', 'no time')
})
