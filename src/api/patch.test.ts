import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isApiError } from './errors.ts'
import { applyPatch, createJsonPatch, createMergePatch, createStrategicMergePatch } from './patch.ts'
import { pod } from './patch/testdata/schemas.ts'

test('each patch type transforms the original into the modified object', () => {
  const before = { metadata: { finalizers: ['a'] }, spec: { containers: [{ name: 'a' }, { name: 'b' }] } }
  const after = { metadata: { finalizers: ['b'] }, spec: { containers: [{ name: 'b' }, { name: 'c' }] } }
  assert.deepEqual(applyPatch('json', { current: before, patch: createJsonPatch(before, after) }), after)
  assert.deepEqual(applyPatch('merge', { current: before, patch: createMergePatch(before, after) }), after)
  const strategic = createStrategicMergePatch(before, after, pod)
  assert.deepEqual(applyPatch('strategic', { current: before, patch: strategic, schema: pod }), after)
})

test('the patch type selects the semantics', () => {
  const current = { spec: { containers: [{ name: 'a' }] } }
  const patch = { spec: { containers: [{ name: 'b' }] } }
  assert.deepEqual(applyPatch('merge', { current, patch, schema: pod }), patch)
  const merged = { spec: { containers: [{ name: 'b' }, { name: 'a' }] } }
  assert.deepEqual(applyPatch('strategic', { current, patch, schema: pod }), merged)
  assert.throws(
    () => applyPatch('json', { current, patch, schema: pod }),
    error => isApiError(error, 'BadRequest'),
  )
})

test('a merge patch must be an object, and a strategic merge patch requires a schema', () => {
  for (const patch of [null, [], 'text', 1]) {
    assert.throws(
      () => applyPatch('merge', { current: {}, patch }),
      error => isApiError(error, 'BadRequest'),
    )
  }
  for (const patch of [[], 'text', 1]) {
    assert.throws(
      () => applyPatch('strategic', { current: {}, patch, schema: pod }),
      error => isApiError(error, 'BadRequest'),
    )
  }
  // Decodes to an empty map in Kubernetes.
  const current = { metadata: { name: 'a' } }
  assert.deepEqual(applyPatch('strategic', { current, patch: null, schema: pod }), current)
  assert.throws(
    () => applyPatch('strategic', { current: {}, patch: {} }),
    /strategic merge patch format is not supported/,
  )
})
