import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubernetesObject } from '#/api/metadata.ts'
import { referencesOf } from './references-of.ts'

function check(id: string, fields: object, expected: readonly string[]): void {
  const object: KubernetesObject = { metadata: { name: 'a', namespace: 'shop' }, ...fields }
  const found = referencesOf(id, object).map(
    each => `${each.label}: ${each.resource} ${each.namespace}/${each.name}`,
  )
  assert.deepEqual(found, expected)
}

test('referencesOf finds what a pod uses, each once', () => {
  const spec = {
    nodeName: 'node-1',
    serviceAccountName: 'robot',
    volumes: [{ configMap: { name: 'settings' } }, { secret: { secretName: 'key' } }, { emptyDir: {} }],
    containers: [
      { envFrom: [{ configMapRef: { name: 'settings' } }], env: [{ name: 'A', value: 'b' }] },
      { env: [{ name: 'B', valueFrom: { secretKeyRef: { name: 'password', key: 'x' } } }] },
    ],
  }
  check('pods', { spec }, [
    'Node: nodes shop/node-1',
    'Service account: serviceaccounts shop/robot',
    'ConfigMap: configmaps shop/settings',
    'Secret: secrets shop/key',
    'Secret: secrets shop/password',
  ])
})

test('referencesOf reads typed references with their group', () => {
  const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }
  check('horizontalpodautoscalers.autoscaling', { spec: { scaleTargetRef } }, [
    'Target: deployment.apps shop/web',
  ])
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' }
  const subjects = [
    { kind: 'ServiceAccount', name: 'robot', namespace: 'ops' },
    { kind: 'User', name: 'ann' },
  ]
  check('rolebindings.rbac.authorization.k8s.io', { roleRef, subjects }, [
    'Role: role.rbac.authorization.k8s.io shop/reader',
    'Subject: serviceaccounts ops/robot',
  ])
})

test('referencesOf ignores fields of unexpected types', () => {
  check('pods', { spec: { nodeName: 3, volumes: 'x', containers: [null, { env: {} }] } }, [])
  check('pods', {}, [])
  check('gizmos.example.com', { spec: { nodeName: 'a' } }, [])
})
