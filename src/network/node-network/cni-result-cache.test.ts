import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planCniResultCleanup } from './cni-result-cache.ts'

test('cached CNI results are removed with their network only', () => {
  const names = [
    'k8ts1-aaa-eth0',
    'k8ts11-bbb-eth0',
    'cni-loopback-aaa-lo',
    'cni-loopback-bbb-lo',
    'k8ts1-ccc-eth0',
    'other-k8ts1-eth0',
    '',
  ]
  const own = ['k8ts1-aaa-eth0', 'cni-loopback-aaa-lo', 'k8ts1-ccc-eth0']
  assert.deepEqual(planCniResultCleanup(names, 'k8ts1'), own)
  assert.deepEqual(planCniResultCleanup(names, 'k8ts2'), [])
})
