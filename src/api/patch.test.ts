import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isApiError } from './errors.ts'
import { applyPatch, createJsonPatch, createMergePatch, createStrategicMergePatch } from './patch.ts'
import { pod } from './patch/testdata/schemas.ts'

test('each kind of patch makes the new object of the old one', () => {
  const before = { metadata: { finalizers: ['a'] }, spec: { containers: [{ name: 'a' }, { name: 'b' }] } }
  const after = { metadata: { finalizers: ['b'] }, spec: { containers: [{ name: 'b' }, { name: 'c' }] } }
  assert.deepEqual(applyPatch('json', before, createJsonPatch(before, after)), after)
  assert.deepEqual(applyPatch('merge', before, createMergePatch(before, after)), after)
  assert.deepEqual(applyPatch('strategic', before, createStrategicMergePatch(before, after, pod), pod), after)
})

test('the kind of a patch decides what it means', () => {
  const current = { spec: { containers: [{ name: 'a' }] } }
  const patch = { spec: { containers: [{ name: 'b' }] } }
  assert.deepEqual(applyPatch('merge', current, patch, pod), patch)
  const merged = { spec: { containers: [{ name: 'b' }, { name: 'a' }] } }
  assert.deepEqual(applyPatch('strategic', current, patch, pod), merged)
  assert.throws(
    () => applyPatch('json', current, patch, pod),
    error => isApiError(error, 'BadRequest'),
  )
})

test('a merge patch is an object, and a strategic one needs a schema', () => {
  for (const patch of [null, [], 'text', 1]) {
    assert.throws(
      () => applyPatch('merge', {}, patch),
      error => isApiError(error, 'BadRequest'),
    )
    assert.throws(
      () => applyPatch('strategic', {}, patch, pod),
      error => isApiError(error, 'BadRequest'),
    )
  }
  assert.throws(() => applyPatch('strategic', {}, {}), /strategic merge patch format is not supported/)
})
