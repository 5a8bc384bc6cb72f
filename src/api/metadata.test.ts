import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { AssertionError } from '#/base/assert.ts'
import { deepFreeze } from './text/json-value.ts'
import {
  controllerOf,
  controllerReference,
  formatKey,
  hasFinalizer,
  isBeingDeleted,
  isControlledBy,
  keyOf,
  parseKey,
  withFinalizer,
  withoutFinalizer,
  type KubernetesObject,
  type OwnerReference,
  type Stored,
} from './metadata.ts'

const set: Stored = deepFreeze({
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  metadata: { name: 'web', uid: 'u1', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' },
})

function owned(...ownerReferences: readonly OwnerReference[]): KubernetesObject {
  return deepFreeze({ metadata: { name: 'web-1', ownerReferences } })
}

test('the controller is the owner with controller: true', () => {
  const reference = controllerReference(set)
  const other = { apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'u2' }
  assert.deepEqual(reference, {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    name: 'web',
    uid: 'u1',
    controller: true,
    blockOwnerDeletion: true,
  })
  assert.deepEqual(controllerOf(owned(other, reference)), reference)
  assert.equal(controllerOf(owned(other, { ...reference, controller: false })), undefined)
  assert.equal(controllerOf({ metadata: {} }), undefined)
  assert.equal(isControlledBy(owned(reference), set), true)
  assert.equal(isControlledBy(owned(reference), { ...set, metadata: { name: 'web', uid: 'u9' } }), false)
  assert.equal(isControlledBy({ metadata: {} }, { metadata: {} }), false)
})

test('an object without apiVersion or kind cannot be an owner', () => {
  for (const missing of [{ apiVersion: '' }, { kind: '' }])
    assert.throws(() => controllerReference({ ...set, ...missing }), AssertionError)
})

test('finalizers are added once and removed completely, without mutating the object', () => {
  const metadata = { name: 'a', finalizers: ['x', 'y', 'x'] }
  const object = deepFreeze({ kind: 'Pod', metadata, spec: { a: 1 } })
  assert.equal(withFinalizer(object, 'x'), object)
  assert.deepEqual(withFinalizer(object, 'z').metadata.finalizers, ['x', 'y', 'x', 'z'])
  assert.equal(withFinalizer(object, 'z').spec, object.spec)
  assert.deepEqual(withoutFinalizer(object, 'x').metadata.finalizers, ['y'])
  assert.equal(withoutFinalizer(object, 'z'), object)
  assert.deepEqual(withoutFinalizer(withoutFinalizer(object, 'x'), 'y').metadata, { name: 'a' })
  assert.deepEqual(withFinalizer({ metadata: {} }, 'z'), { metadata: { finalizers: ['z'] } })
  assert.equal(hasFinalizer({ metadata: {} }, 'x'), false)
})

test('an object with a deletion timestamp is being deleted', () => {
  assert.equal(isBeingDeleted({ metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }), true)
  assert.equal(isBeingDeleted({ metadata: {} }), false)
})

test('object keys are namespace/name', () => {
  assert.equal(keyOf({ metadata: { namespace: 'default', name: 'web' } }), 'default/web')
  assert.equal(keyOf({ metadata: { name: 'node-1' } }), 'node-1')
  assert.equal(keyOf({ metadata: {} }), '')
  assert.deepEqual(parseKey('node-1'), { namespace: '', name: 'node-1' })
  assert.throws(() => parseKey('a/b/c'), { message: 'unexpected key format: "a/b/c"' })
  const part = fc.stringMatching(/^[a-z.-]{1,10}$/)
  fc.assert(
    fc.property(fc.oneof(part, fc.constant('')), part, (namespace, name) => {
      assert.deepEqual(parseKey(formatKey({ namespace, name })), { namespace, name })
    }),
  )
})
