import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compareVersions, isStableVersion } from './version-priority.ts'

test('stable versions come before beta and alpha, higher ones before lower, other names last', () => {
  const sorted = [
    'v10',
    'v2',
    'v1',
    'v11beta2',
    'v10beta3',
    'v3beta1',
    'v12alpha1',
    'v11alpha2',
    'foo1',
    'foo10',
  ]
  assert.deepEqual(sorted.toReversed().sort(compareVersions), sorted)
})

test('only names of the form v1, v1beta1, v1alpha1 are versions', () => {
  const long = `v${'1'.repeat(100_000)}`
  for (const name of ['v0', 'v01', '1', 'v1beta', 'v1beta0', 'v1gamma1', 'V1', 'v1 ', long]) {
    assert.equal(isStableVersion(name), false, name.slice(0, 20))
    assert.ok(compareVersions('v1alpha1', name) < 0, name.slice(0, 20))
  }
  assert.equal(isStableVersion('v1'), true)
  assert.equal(isStableVersion('v1beta1'), false)
})

test('version priority is a total order', () => {
  const version = fc.oneof(fc.stringMatching(/^v[1-3]((alpha|beta)[1-2])?$/), fc.string({ maxLength: 3 }))
  fc.assert(
    fc.property(version, version, version, (a, b, c) => {
      assert.equal(Math.sign(compareVersions(a, b)), -Math.sign(compareVersions(b, a)) + 0)
      assert.equal(compareVersions(a, b) === 0, a === b)
      if (compareVersions(a, b) < 0 && compareVersions(b, c) < 0) assert.ok(compareVersions(a, c) < 0)
    }),
  )
})
