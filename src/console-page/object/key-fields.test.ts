import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keyFields } from './key-fields.ts'

function check(id: string, fields: object, expected: readonly string[]): void {
  const found = keyFields(id, { metadata: { name: 'a' }, ...fields })
  assert.deepEqual(
    found.map(({ name, text, tone }) => `${name}: ${text}${tone ? ` (${tone})` : ''}`),
    expected,
  )
}

test('keyFields shows the replicas of a workload with their state', () => {
  const spec = { replicas: 3 }
  check('replicasets.apps', { spec, status: { readyReplicas: 3 } }, ['Replicas: 3 of 3 ready (good)'])
  check('replicasets.apps', { spec, status: {} }, ['Replicas: 0 of 3 ready (warn)'])
  check('replicasets.apps', { spec: { replicas: 0 } }, ['Replicas: 0 of 0 ready (idle)'])
  check('deployments.apps', { spec, status: { readyReplicas: 3, updatedReplicas: 1 } }, [
    'Replicas: 3 of 3 ready, 1 updated (busy)',
  ])
})

test('keyFields leaves out fields that are absent or objects, and joins lists', () => {
  check(
    'persistentvolumeclaims',
    { spec: { accessModes: ['ReadWriteOnce', 'ReadOnlyMany'] }, status: { phase: {} } },
    ['Access modes: ReadWriteOnce, ReadOnlyMany'],
  )
  check('gizmos.example.com', { spec: { size: 3 } }, [])
})
