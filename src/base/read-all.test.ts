import assert from 'node:assert/strict'
import test from 'node:test'
import { readAll } from './read-all.ts'

test('a stream is read up to its bound; one that exceeds it is ended with an error', async () => {
  let isEnded = false
  async function* pieces() {
    try {
      yield Buffer.from('ab')
      yield Buffer.from('cd')
    } finally {
      isEnded = true
    }
  }
  assert.equal((await readAll(pieces(), 4)).toString(), 'abcd')
  isEnded = false
  await assert.rejects(readAll(pieces(), 3), /response exceeds 3 bytes/)
  assert.equal(isEnded, true)
})
