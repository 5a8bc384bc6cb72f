import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  countIntersection,
  countIndexes,
  firstPendingIndexes,
  formatIndexRanges,
  hasIndex,
  indexRangesOf,
  parseIndexRanges,
  readIndexRanges,
  mergeIndexRanges,
} from './index-ranges.ts'

const indexes = fc.array(fc.nat(40), { maxLength: 30 })

test('completed indexes are formatted as ranges', () => {
  const check = (list: readonly number[], text: string): void => {
    assert.equal(formatIndexRanges(indexRangesOf(list)), text)
  }
  check([], '')
  check([3], '3')
  check([4, 3], '3,4')
  check([1, 7, 3, 4, 5], '1,3-5,7')
  check([2, 2, 2, 0, 1], '0-2')
})

test('index ranges are cut at completions, and invalid text is empty', () => {
  const check = (text: string | undefined, below: number, expected: string): void => {
    assert.equal(formatIndexRanges(readIndexRanges(text, below)), expected)
  }
  check('1,3-5,7', 10, '1,3-5,7')
  check('1,3-5,7', 5, '1,3,4')
  check('1,3-5,7', 1, '')
  check(undefined, 5, '')
  check('1,x', 5, '')
  check('5,1', 9, '')
  check(`0-${'9'.repeat(400)}`, 5, '')
})

test('operations on index ranges agree with sets of indexes', () => {
  fc.assert(
    fc.property(indexes, indexes, fc.nat(45), fc.nat(20), (first, second, below, limit) => {
      const [a, b] = [indexRangesOf(first), indexRangesOf(second)]
      const [setA, setB] = [new Set(first), new Set(second)]
      assert.deepEqual(mergeIndexRanges(a, b), indexRangesOf(setA.union(setB)))
      assert.equal(countIndexes(a), setA.size)
      assert.equal(countIntersection(a, b), setA.intersection(setB).size)
      for (let index = 0; index <= 41; index++) assert.equal(hasIndex(a, index), setA.has(index))
      const missing = Array.from({ length: below }, (_, index) => index).filter(index => !setA.has(index))
      assert.deepEqual(firstPendingIndexes(a, { below, limit }), missing.slice(0, limit))
      assert.deepEqual(mergeIndexRanges(readIndexRanges(formatIndexRanges(a), 1_000)), a)
      assert.notEqual(typeof parseIndexRanges(formatIndexRanges(a), 1_000), 'string')
    }),
    { numRuns: 300 },
  )
})
