import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deleteOptionsOf, gracePeriodOf } from './delete-flags.ts'

test('flags give a grace period', () => {
  const check = (flags: Parameters<typeof gracePeriodOf>[0], expected: number | RegExp | undefined): void => {
    if (expected instanceof RegExp) assert.throws(() => gracePeriodOf(flags), expected)
    else assert.equal(gracePeriodOf(flags), expected)
  }
  check({}, undefined)
  check({ 'grace-period': -1 }, undefined)
  check({ 'grace-period': 5 }, 5)
  check({ 'grace-period': 0 }, 1)
  check({ 'grace-period': 0, 'force': true }, 0)
  check({ force: true }, 0)
  check({ now: true }, 1)
  check({ 'now': true, 'grace-period': 5 }, /--now and --grace-period cannot be specified together/)
  check({ 'force': true, 'grace-period': 5 }, /--force and --grace-period greater than 0/)
})

test('a plan gives DeleteOptions', () => {
  assert.deepEqual(deleteOptionsOf({ propagationPolicy: 'Orphan' }), { propagationPolicy: 'Orphan' })
  assert.deepEqual(
    deleteOptionsOf({ propagationPolicy: 'Background', gracePeriodSeconds: 0, dryRun: true }),
    {
      gracePeriodSeconds: 0,
      propagationPolicy: 'Background',
      dryRun: ['All'],
    },
  )
})
