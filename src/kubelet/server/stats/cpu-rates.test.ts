import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CpuRates } from './cpu-rates.ts'

test('the CPU rate is computed from two samples within the allowed distance', () => {
  const rates = new CpuRates()
  const look = (nowMs: number, seconds: number): number | undefined => rates.sample('a', nowMs, seconds * 1e9)
  assert.equal(look(0, 10), undefined, 'nothing is known at the first look')
  assert.equal(rates.isFresh('a', 0), false)
  assert.equal(look(2_000, 11), 500_000_000)
  assert.equal(rates.isFresh('a', 2_000), true)
  assert.equal(look(2_100, 11.1), 500_000_000, 'the next look came too soon')
  assert.equal(look(4_000, 11), 0)
  assert.equal(look(5_000, 3), undefined, 'it was started again')
  assert.equal(look(6_000, 4), 1_000_000_000)
  assert.equal(look(1_000_000, 5), undefined, 'that is too long ago')
  rates.keep(new Set())
  assert.equal(rates.isFresh('a', 1_000_000), false)
})
