import assert from 'node:assert/strict'
import { test } from 'node:test'
import { constantName } from './constant-name.ts'

test('constants have the capitals of the kind', () => {
  assert.equal(constantName('Pod', 'pods'), 'pods')
  assert.equal(constantName('NetworkPolicy', 'networkpolicies'), 'networkPolicies')
  assert.equal(constantName('CSIDriver', 'csidrivers'), 'csiDrivers')
  assert.equal(constantName('ServiceCIDR', 'servicecidrs'), 'serviceCIDRs')
  assert.equal(constantName('Endpoints', 'endpoints'), 'endpoints')
  assert.equal(constantName('HTTPRoute', 'httproutes'), 'httpRoutes')
})
