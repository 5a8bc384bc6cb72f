import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeOperation, type Operation } from './history.ts'
import { historyOf } from './test-history.ts'

test('an operation is described in one line', () => {
  const check = (line: string, expected: string): void => {
    assert.equal(describeOperation(historyOf(line)[0] as Operation), expected)
  }
  check('0-1 a update k v2 if 5 = 6', 'a: update k value v2 if at 5 = v2 at 6 (0.0 to 1.0 ms)')
  check('0-1 a delete k = ok', 'a: delete k = ok (0.0 to 1.0 ms)')
  check('0-1 a get k = NotFound', 'a: get k = NotFound (0.0 to 1.0 ms)')
  check('0-1 a create k v1 = ?', 'a: create k value v1 = unknown (timeout) (0.0 to 1.0 ms)')
})
