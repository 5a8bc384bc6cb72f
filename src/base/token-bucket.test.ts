import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TokenBucket } from './token-bucket.ts'

test('a token bucket allows its burst, then one per refill', () => {
  const bucket = new TokenBucket({ burst: 3, perSecond: 1 / 300 }, 0)
  assert.deepEqual(
    [0, 0, 0, 0, 299_000].map(now => bucket.take(now)),
    [true, true, true, false, false],
  )
  assert.deepEqual(
    [300_001, 300_002, 600_002].map(now => bucket.take(now)),
    [true, false, true],
  )
})

test('a token bucket never holds more than its burst', () => {
  const bucket = new TokenBucket({ burst: 2, perSecond: 10 }, 0)
  assert.deepEqual(
    [1e9, 1e9, 1e9].map(now => bucket.take(now)),
    [true, true, false],
  )
})

test('reservations of a token bucket are served in order', () => {
  const bucket = new TokenBucket({ burst: 1, perSecond: 10 }, 0)
  assert.deepEqual(
    [0, 0, 0].map(now => bucket.reserve(now)),
    [0, 100, 200],
  )
  assert.equal(bucket.reserve(250), 50)
  assert.equal(bucket.take(250), false)
})
