import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UsageError } from '#/base/flags.ts'
import { keyValueFlag } from './flag-types.ts'

test('pairs of a flag are separated by commas if there are several', () => {
  const check = (texts: readonly string[], expected: Readonly<Record<string, string>>): void => {
    assert.deepEqual(Object.fromEntries(keyValueFlag('').read(texts)), expected)
  }
  check(['a=b'], { a: 'b' })
  check(['a=b,c=d', 'e='], { a: 'b', c: 'd', e: '' })
  check(['a=b,c'], { a: 'b,c' })
  check(['"a=b,c",d=e'], { a: 'b,c', d: 'e' })
  check(['a=b', 'a=c'], { a: 'c' })
  for (const text of ['a', 'a=b,c=d,e']) {
    assert.throws(() => keyValueFlag('').read([text]), UsageError)
  }
})
