import assert from 'node:assert/strict'
import { test } from 'node:test'
import { structDefinition } from '../definitions.ts'
import { zeroStruct } from './zero-value.ts'

test('the zero value of a struct has the fields that are always present', () => {
  const check = (name: string, expected: object): void => {
    assert.deepEqual(zeroStruct(structDefinition(name)), expected)
  }
  check('apps.v1.DeploymentStatus', {})
  check('apps.v1.ReplicaSetStatus', { replicas: 0 })
  check('storage.v1.VolumeAttachmentStatus', { attached: false })
  check('core.v1.ServiceStatus', { loadBalancer: {} })
  check('core.v1.NodeDaemonEndpoints', { kubeletEndpoint: { Port: 0 } })
  check('policy.v1.PodDisruptionBudgetStatus', {
    currentHealthy: 0,
    desiredHealthy: 0,
    disruptionsAllowed: 0,
    expectedPods: 0,
  })
})
