import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backoffMs } from './backoff.ts'

test('the backoff doubles up to its maximum and stays finite', () => {
  const backoff = { initialMs: 5, maxMs: 1_000_000, factor: 2, jitter: 0 }
  const waits = [0, 1, 2, 3, 10, 18, 19, 1e6, Infinity].map(failures => backoffMs(failures, backoff, 0.5))
  assert.deepEqual(waits, [5, 5, 10, 20, 2_560, 655_360, 1_000_000, 1_000_000, 1_000_000])
})

test('jitter adds at most its fraction of the backoff', () => {
  const backoff = { initialMs: 800, maxMs: 30_000, factor: 2, jitter: 0.5 }
  assert.equal(backoffMs(1, backoff, 0), 800)
  assert.equal(backoffMs(1, backoff, 0.5), 1_000)
  assert.equal(backoffMs(99, backoff, 1), 45_000)
})
