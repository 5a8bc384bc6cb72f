import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findOverlaps } from './pod-instances.ts'

/** `pod/uid@host first-last`, one word for each. */
function check(instances: string, expected: number): void {
  const parsed = instances.split(', ').map(text => {
    const [, podName = '', uid = '', host = '', first, last] =
      /^(\S+)\/(\S+)@(\S+) (\d+)-(\d+)$/.exec(text) ?? assert.fail(text)
    return { podName, uid, host, firstSeconds: Number(first), lastSeconds: Number(last) }
  })
  assert.equal(findOverlaps(parsed).length, expected, instances)
}

test('two pods of one name must not run at the same time', () => {
  check('a/1@x 0-10', 0)
  check('a/1@x 0-10, a/2@y 11-20', 0)
  check('a/1@x 0-10, b/2@y 0-10', 0)
  check('a/1@x 0-10, a/1@x 5-20', 0)
  check('a/1@x 0-10, a/2@y 9-20', 1)
  check('a/2@y 3-4, a/1@x 0-10', 1)
  check('a/1@x 0-10, a/2@y 10-20, a/3@z 15-16', 2)
})
