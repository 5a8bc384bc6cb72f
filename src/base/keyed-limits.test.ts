import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeyedLimits } from './keyed-limits.ts'

function enterMany(limits: KeyedLimits, key: string, count: number): readonly Disposable[] {
  return Array.from({ length: count }, () => limits.enter(key)).filter(use => use !== undefined)
}

test('concurrent uses are bounded per key', () => {
  const limits = new KeyedLimits({ perKey: 3, total: 10 })
  const [first, ...others] = enterMany(limits, 'a', 5)
  assert.equal(others.length, 2)
  assert.notEqual(limits.enter('b'), undefined)
  first![Symbol.dispose]()
  first![Symbol.dispose]()
  assert.equal(enterMany(limits, 'a', 5).length, 1)
})

test('concurrent uses are bounded in total', () => {
  const limits = new KeyedLimits({ perKey: 3, total: 5 })
  const [first] = enterMany(limits, 'a', 3)
  assert.equal(enterMany(limits, 'b', 3).length, 2)
  first![Symbol.dispose]()
  assert.equal(enterMany(limits, 'c', 3).length, 1)
})
