import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RecentMax } from './requests.ts'

test('the maximum covers the last second and is then forgotten', () => {
  let nowMs = 10_000
  const recent = new RecentMax(() => nowMs)
  const at = (ms: number, amount: number): void => recent.add(amount, (nowMs = ms))
  const check = (ms: number, max: number): void => {
    nowMs = ms
    assert.equal(recent.max(), max, `${ms}`)
  }
  at(10_000, 3)
  at(10_100, -2)
  check(10_200, 3)
  check(11_900, 3)
  check(12_000, 1)
  at(12_500, 1)
  at(20_000, -2)
  check(20_100, 2)
  check(22_000, 0)
})
