import assert from 'node:assert/strict'
import test from 'node:test'
import type { Note } from './messages.ts'
import { revisionOf } from './writer.ts'

const mine: Note = { writer: 'w', sequence: 4, ancestors: [{ writer: 'w', sequence: 3, revision: 7 }] }
const ancestor = { writer: 'w', sequence: 4, revision: 8 }
const other = (ancestors: Note['ancestors']): Note => ({ writer: 'v', sequence: 1, ancestors })

test('a writer detects its write after a lost response and later writes of others', () => {
  const lost = (note: Note, revision: number): number | undefined =>
    revisionOf({ outcome: 'lost-race', stored: { revision, note } }, mine)
  assert.equal(revisionOf({ outcome: 'written', revision: 8 }, mine), 8)
  assert.equal(lost(mine, 8), 8)
  assert.equal(lost(other([ancestor]), 9), 8)
  assert.equal(lost(other([{ writer: 'w', sequence: 3, revision: 7 }]), 9), undefined)
  assert.equal(lost(other([]), 9), undefined)
  assert.equal(lost({ ...mine, sequence: 3 }, 7), undefined)
  assert.equal(revisionOf({ outcome: 'lost-race' }, mine), undefined)
})
