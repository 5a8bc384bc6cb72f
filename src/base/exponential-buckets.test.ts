import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exponentialBuckets } from './exponential-buckets.ts'

test('each bucket is the factor times the one before it', () => {
  assert.deepEqual(exponentialBuckets(1, 2, 5), [1, 2, 4, 8, 16])
  assert.deepEqual(exponentialBuckets(0.25, 4, 3), [0.25, 1, 4])
  assert.deepEqual(exponentialBuckets(7, 3, 1), [7])
})
