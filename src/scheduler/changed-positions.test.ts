import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ChangedPositions } from './changed-positions.ts'

test('changes between two generations', () => {
  const changes = new ChangedPositions(5, 10)
  changes.add([1, 2])
  changes.add([])
  changes.add([2, 3])
  assert.deepEqual(changes.between(5, 5), [])
  assert.deepEqual(changes.between(5, 6), [1, 2])
  assert.deepEqual(changes.between(6, 7), [])
  assert.deepEqual(changes.between(6, 8), [2, 3])
  assert.deepEqual(changes.between(8, 6), [2, 3])
  assert.deepEqual(changes.between(5, 8), [1, 2, 3], 'each once')
  assert.equal(changes.between(4, 8), undefined, 'before the first')
})

test('old changes are forgotten, the others stay correct', () => {
  const changes = new ChangedPositions(0, 10)
  const generations = 5_000
  for (let generation = 1; generation <= generations; generation++) changes.add([generation % 10])
  assert.equal(changes.between(0, generations), undefined)
  assert.deepEqual(changes.between(generations - 3, generations - 1), [
    (generations - 2) % 10,
    (generations - 1) % 10,
  ])
  const last = changes.between(generations - 500, generations)
  assert.deepEqual(last?.toSorted(), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
})
