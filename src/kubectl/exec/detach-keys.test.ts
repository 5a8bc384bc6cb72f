import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DetachKeys, parseDetachKeys } from './detach-keys.ts'

test('detach keys are read as codes', () => {
  assert.deepEqual(parseDetachKeys('ctrl-p,ctrl-q'), [16, 17])
  assert.deepEqual(parseDetachKeys('a,DEL,ctrl-[,ctrl-@'), [97, 127, 27, 0])
  for (const text of ['foo', 'ctrl-', 'ctrl-1', 'ctrl-p,xx']) {
    assert.throws(() => parseDetachKeys(text), /^Error: could not bind detach keys: Unknown character: '/)
  }
})

test('the sequence detaches, also in pieces; a part of it is input once another key follows', () => {
  const check = (pieces: readonly string[], expected: string): void => {
    const keys = new DetachKeys(parseDetachKeys('a,b'))
    let read = ''
    for (const piece of pieces) {
      const { input, isDetached } = keys.read(Buffer.from(piece))
      read += Buffer.from(input).toString()
      if (isDetached) read += '!'
    }
    assert.equal(read, expected)
  }
  check(['xyz'], 'xyz')
  check(['xab'], 'x!')
  check(['xa', 'bz'], 'x!')
  check(['xa', 'z'], 'xaz')
  check(['aab'], 'a!')
  check(['ax', 'ab'], 'ax!')
})
