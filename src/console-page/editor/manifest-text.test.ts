import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withoutManagedFields, withResourceVersion } from './manifest-text.ts'

const manifest = `apiVersion: v1
kind: ConfigMap
data:
  managedFields: |
    - kept
  resourceVersion: kept
metadata:
  labels:
    resourceVersion: kept
  managedFields:
  - apiVersion: v1
    fieldsV1:
      f:data:
        .: {}
    manager: kubectl
  -
    manager: other
  name: a
  resourceVersion: "12"
`

test('withoutManagedFields removes that member of the metadata and nothing else', () => {
  const cleaned = withoutManagedFields(manifest)
  assert.equal(cleaned.includes('manager: '), false)
  assert.deepEqual(cleaned.split('\n').slice(0, 10), manifest.split('\n').slice(0, 9).concat('  name: a'))
  assert.equal(withoutManagedFields(cleaned), cleaned)
})

test('withResourceVersion replaces the version in the metadata', () => {
  assert.equal(withResourceVersion(manifest, '34'), manifest.replace('"12"', '"34"'))
  assert.equal(withResourceVersion('metadata: {name: a}\n', '34'), undefined)
  assert.equal(withResourceVersion('data: {}\n', '34'), undefined)
})
