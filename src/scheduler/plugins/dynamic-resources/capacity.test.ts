import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CapacityRequestPolicy } from '#/api/generated/resource/v1.ts'
import { formatQuantity, parseQuantity } from '#/api/text/quantity.ts'
import { takeCapacity } from './capacity.ts'

/** Checks the amount consumed of 10Gi under the policy, with the given amounts already consumed. */
function check(
  requested: string | undefined,
  policy: CapacityRequestPolicy | undefined,
  expected: string | undefined,
  used = '0',
): void {
  const device = {
    name: 'd',
    capacity: { memory: { value: '10Gi', ...(policy && { requestPolicy: policy }) } },
  }
  const requests: Record<string, string> = requested === undefined ? {} : { memory: requested }
  const taken = takeCapacity(device, requests, [new Map([['memory', parseQuantity(used).nanos]])])
  const shown = taken && formatQuantity(taken.get('memory')!)
  assert.equal(shown, expected, `${requested} with ${JSON.stringify(policy)} beside ${used}`)
}

test('consumed capacity of a device request', () => {
  check(undefined, undefined, '10Gi')
  check(undefined, undefined, undefined, '1')
  check('3Gi', undefined, '3Gi')
  check('3Gi', undefined, '3Gi', '7Gi')
  check('3Gi', undefined, undefined, '8Gi')
  check('11Gi', undefined, undefined)
  check(undefined, { default: '2Gi' }, '2Gi')
  const range = { default: '1Gi', validRange: { min: '1Gi', max: '8Gi', step: '2Gi' } }
  check('1Mi', range, '1Gi')
  check('1500Mi', range, '3Gi')
  check('3Gi', range, '3Gi')
  check('8Gi', range, undefined)
  check('7Gi', { validRange: { min: '1Gi' } }, '7Gi')
  check('9Gi', { validRange: { min: '1Gi', max: '8Gi' } }, undefined)
  const values = { default: '1Gi', validValues: ['1Gi', '4Gi'] }
  check('2Gi', values, '4Gi')
  check('5Gi', values, undefined)
  check('4Gi', values, '4Gi', '6Gi')
  check('2Gi', values, undefined, '7Gi')
  check('2Gi', { validRange: { min: '1Gi', step: '0' } }, '2Gi')
})

test('a capacity that the device does not have cannot be requested', () => {
  for (const name of ['gone', '__proto__', 'constructor', 'toString']) {
    const requests = Object.fromEntries([[name, '1']])
    assert.equal(takeCapacity({ name: 'd', capacity: {} }, requests, []), undefined)
    assert.equal(takeCapacity({ name: 'd' }, requests, []), undefined)
  }
  assert.deepEqual(takeCapacity({ name: 'd' }, {}, []), new Map())
})
