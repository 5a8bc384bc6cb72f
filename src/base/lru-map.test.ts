import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LruMap } from './lru-map.ts'

test('at its bound the LRU map evicts the least recently used entry', () => {
  const map = new LruMap<string, number>(2)
  map.set('a', 1)
  map.set('b', 2)
  assert.equal(map.get('a'), 1)
  map.set('c', 3)
  assert.deepEqual(
    ['a', 'b', 'c'].map(key => map.get(key)),
    [1, undefined, 3],
  )
  map.set('a', 4)
  assert.equal(map.get('a'), 4)
  assert.equal(map.size, 2)
})
