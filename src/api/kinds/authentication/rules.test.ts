import assert from 'node:assert/strict'
import { test } from 'node:test'
import { underTest } from '../testdata/check-rules.ts'
import { authenticationRules } from './group.ts'

const { check, withDefaults } = underTest(authenticationRules['TokenRequest'])

test('a TokenRequest expires after one hour by default and ten minutes at least', () => {
  assert.deepEqual(withDefaults({}), { spec: { expirationSeconds: 3600 } })
  check({})
  check({ spec: { expirationSeconds: 4_294_967_296 } })
  check(
    { spec: { expirationSeconds: 599 } },
    'spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes',
  )
  check(
    { spec: { expirationSeconds: 9_007_199_254_740_993n } },
    'spec.expirationSeconds: Invalid value: 9007199254740993: may not specify a duration larger than 2^32 seconds',
  )
})
