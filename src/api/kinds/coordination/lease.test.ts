import assert from 'node:assert/strict'
import { test } from 'node:test'
import { underTest } from '../testdata/check-rules.ts'
import { leaseRules } from './group.ts'

const { check, checkUpdate } = underTest(leaseRules)

test('validation of Lease duration and transitions', () => {
  check({})
  check({ spec: { leaseDurationSeconds: 1, leaseTransitions: 0 } })
  check(
    { spec: { leaseDurationSeconds: 0, leaseTransitions: -1 } },
    'spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0',
    'spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0',
  )
  checkUpdate({ spec: { leaseDurationSeconds: -5 } }, {}, 'spec.leaseDurationSeconds: Invalid value: -5')
})

test('Lease strategy fields are dropped', () => {
  const spec = { holderIdentity: 'a', strategy: 'OldestEmulationVersion', preferredHolder: 'b' }
  assert.deepEqual(leaseRules.prepareForCreate?.({ metadata: {}, spec }), {
    metadata: {},
    spec: { holderIdentity: 'a' },
  })
  const plain = { metadata: {}, spec: { holderIdentity: 'a' } }
  assert.equal(leaseRules.prepareForCreate?.(plain), plain)
})
