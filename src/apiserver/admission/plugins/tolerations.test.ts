import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Toleration } from '#/api/generated/core/v1.ts'
import { areAllowed, mergeTolerations } from './tolerations.ts'

/** Parses `key=value:Effect@seconds`; a key without value means Exists, and `*` matches every key. */
function read(text: string): Toleration {
  const [, key = '', value, effect, seconds] =
    /^([^=:@]*)(?:=([^:@]*))?(?::([^@]*))?(?:@(.*))?$/u.exec(text) ?? []
  return {
    ...(key !== '*' && { key }),
    ...(value === undefined ? { operator: 'Exists' } : { operator: 'Equal', value }),
    ...(effect && { effect }),
    ...(seconds && { tolerationSeconds: Number(seconds) }),
  }
}

const list = (text: string): readonly Toleration[] =>
  text
    .split(' ')
    .filter(each => each !== '')
    .map(read)

test('merging drops tolerations covered by others', () => {
  const check = (first: string, second: string, expected: string): void => {
    assert.deepEqual(mergeTolerations(list(first), list(second)), list(expected), `${first} + ${second}`)
  }
  check('', '', '')
  check('a', 'b', 'a b')
  check('a', 'a', 'a')
  check('a=x', 'a', 'a')
  check('a', 'a=x a=y', 'a')
  check('a=x', 'a=y', 'a=x a=y')
  check('a:NoSchedule', 'a', 'a')
  check('a:NoSchedule', 'a:NoExecute', 'a:NoSchedule a:NoExecute')
  check('a b=x', '*', '*')
  check('a:NoExecute@10', 'a:NoExecute@20', 'a:NoExecute@20')
  check('a:NoExecute@10', 'a:NoExecute', 'a:NoExecute')
})

test('every toleration must be covered by the whitelist', () => {
  const check = (tolerations: string, allowed: string, expected: boolean): void => {
    assert.equal(areAllowed(list(tolerations), list(allowed)), expected, `${tolerations} in ${allowed}`)
  }
  check('a b', '', true)
  check('', 'a', true)
  check('a=x', 'a', true)
  check('a', 'a=x', false)
  check('a b', 'a', false)
  check('a b', '*', true)
  check('a', 'a:NoSchedule', false)
  check('a:NoExecute', 'a:NoExecute@10', false)
  check('a:NoExecute@5', 'a:NoExecute@10', true)
})
