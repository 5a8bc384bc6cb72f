import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logTail } from './termination-message.ts'

const time = '2026-01-01T00:00:00.123456789Z'

/** Records as `F text` or `P text`. */
function tail(records: readonly string[], { linesMax = 80, bytesMax = 2048 } = {}): string {
  const log = records.map(record => `${time} stdout ${record}\n`).join('')
  return logTail(log, { linesMax, bytesMax })
}

test('the log tail keeps the lines as written', () => {
  assert.equal(tail([]), '')
  assert.equal(tail(['F one', 'F two']), 'one\ntwo\n')
  assert.equal(tail(['F one', 'F ', 'F two']), 'one\n\ntwo\n')
  assert.equal(tail(['P be', 'P gin', 'F ning', 'F end']), 'beginning\nend\n')
  assert.equal(tail(['F one', 'P unfinished']), 'one\nunfinished')
  assert.equal(tail(['F 1', 'F 2', 'F 3'], { linesMax: 2 }), '2\n3\n')
})

test('the log tail is bounded and cuts no character', () => {
  assert.equal(tail(['F 0123456789'], { bytesMax: 4 }), '789\n')
  assert.equal(tail(['F ää'], { bytesMax: 4 }), 'ä\n')
  assert.equal(tail(['F \u{1f600}'], { bytesMax: 3 }), '\n')
})

test('the log tail skips malformed records', () => {
  const log = `00Z stdout F cut\n\n${time} stderr F whole\ngarbage`
  assert.equal(logTail(log, { linesMax: 80, bytesMax: 2048 }), 'whole\n')
})
