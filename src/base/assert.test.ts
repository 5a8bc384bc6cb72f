import assertions from 'node:assert/strict'
import { test } from 'node:test'
import { assert, AssertionError } from './assert.ts'

test('a true condition passes and narrows the type', () => {
  const value: string | undefined = ['a'].at(0)
  assert(value, 'there is a value')
  assertions.equal(value.length, 1)
})

test('a false condition throws an error of its own class that carries the message', () => {
  for (const condition of [false, 0, '', undefined, null, Number.NaN]) {
    assertions.throws(
      () => assert(condition, 'broken'),
      error => {
        return (
          error instanceof AssertionError && error.name === 'AssertionError' && error.message === 'broken'
        )
      },
    )
  }
})
