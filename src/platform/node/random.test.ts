import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeRandom } from './random.ts'

const random = nodeRandom()

test('fractions lie in [0, 1) and fill it evenly', () => {
  const counts = Array.from({ length: 10 }, () => 0)
  const draws = 20_000
  for (let draw = 0; draw < draws; draw += 1) {
    const fraction = random.fraction('test')
    assert.ok(fraction >= 0 && fraction < 1)
    counts[Math.floor(fraction * 10)]! += 1
  }
  // Seven standard deviations: wrong once in 10^11 runs.
  for (const count of counts) assert.ok(Math.abs(count - draws / 10) < 300, counts.join(' '))
})

test('whole numbers stay below the bound and reach every value', () => {
  for (const below of [1, 2, 3, 7, 10]) {
    const seen = new Set<number>()
    for (let draw = 0; draw < 500; draw += 1) seen.add(random.integer('test', below))
    assert.deepEqual(
      [...seen].sort((a, b) => a - b),
      Array.from({ length: below }, (_, index) => index),
    )
  }
  assert.ok(Number.isSafeInteger(random.integer('test', Number.MAX_SAFE_INTEGER)))
})

test('a random bound that is not a positive integer fails an assertion', () => {
  for (const below of [0, -1, 1.5, Number.NaN, Infinity, 2 ** 60]) {
    assert.throws(() => random.integer('test', below), { name: 'AssertionError' })
  }
})

test('random bytes have the requested length and differ', () => {
  assert.equal(random.bytes('test', 0).length, 0)
  const first = random.bytes('test', 32)
  assert.equal(first.length, 32)
  assert.notDeepEqual(first, random.bytes('test', 32))
  assert.match(random.uuid('test'), /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
  assert.notEqual(random.uuid('test'), random.uuid('test'))
})
