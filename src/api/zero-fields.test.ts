import assert from 'node:assert/strict'
import { test } from 'node:test'
import { structDefinition } from './definitions.ts'
import { deepFreeze } from './text/json-value.ts'
import {
  withAbsentFields,
  withEncodedFields,
  withoutNullFields,
  withZeroFields,
  zeroStruct,
} from './zero-fields.ts'

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

test('zero values and nulls are those of fields that Kubernetes always encodes', () => {
  const check = (name: string, object: object, inMemory: object, encoded: object): void => {
    const schema = structDefinition(name)
    const complete = withZeroFields(deepFreeze(object), schema)
    assert.deepEqual(complete, inMemory)
    const json = withEncodedFields(deepFreeze(complete), schema)
    assert.deepEqual(json, encoded)
    assert.deepEqual(withEncodedFields(object, schema), encoded)
    assert.deepEqual(withoutNullFields(deepFreeze(json), schema), inMemory)
  }
  check('rbac.v1.Role', {}, { metadata: {} }, { metadata: {}, rules: null })
  check(
    'core.v1.LimitRange',
    { metadata: { name: 'a' } },
    { metadata: { name: 'a' }, spec: {} },
    { metadata: { name: 'a' }, spec: { limits: null } },
  )
  // A list, a struct in a list, a pointer that is included although it is optional, and a time.
  check(
    'core.v1.Volume',
    { projected: {} },
    { name: '', projected: {} },
    { name: '', projected: { sources: null } },
  )
  check(
    'core.v1.Probe',
    { httpGet: {}, grpc: { port: 1 } },
    { httpGet: { port: 0 }, grpc: { port: 1 } },
    { httpGet: { port: 0 }, grpc: { port: 1, service: null } },
  )
  check(
    'core.v1.PodStatus',
    { conditions: [{ type: 'Ready', status: 'True' }] },
    { conditions: [{ type: 'Ready', status: 'True' }] },
    { conditions: [{ type: 'Ready', status: 'True', lastProbeTime: null, lastTransitionTime: null }] },
  )
  // Required, but omitted if empty; the creation time of a template is omitted, too.
  check('networking.v1.ParentReference', {}, {}, {})
  check(
    'core.v1.PodTemplateSpec',
    {},
    { metadata: {}, spec: {} },
    { metadata: {}, spec: { containers: null } },
  )
})

test('empty lists are encoded as null', () => {
  const schema = structDefinition('rbac.v1.Role')
  const role = { metadata: {}, rules: [] }
  assert.equal(withAbsentFields(role, schema), role)
  assert.deepEqual(withEncodedFields(role, schema), { metadata: {}, rules: null })
  // An empty selector is not an absent one.
  const policy = { selector: {}, template: { metadata: {}, spec: { containers: [] } }, strategy: {} }
  assert.deepEqual(withEncodedFields(policy, structDefinition('apps.v1.DeploymentSpec')), {
    ...policy,
    template: { metadata: {}, spec: { containers: null } },
  })
})

test('an object that has all fields is returned as it is', () => {
  const schema = structDefinition('core.v1.Pod')
  const pod = { metadata: {}, spec: { containers: [{ name: 'a', resources: {} }] }, status: {} }
  assert.equal(withZeroFields(pod, schema), pod)
  assert.equal(withEncodedFields(pod, schema), pod)
  assert.equal(withoutNullFields(pod, schema), pod)
})

test('nulls inside values of any type are data', () => {
  const schema = structDefinition('apps.v1.ControllerRevision')
  const revision = { metadata: {}, data: { spec: null }, revision: 1 }
  assert.equal(withoutNullFields(revision, schema), revision)
})
