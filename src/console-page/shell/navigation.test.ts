import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isCustomResource, pluralOf } from './navigation.ts'

test('pluralOf keeps the capitals of the kind', () => {
  const check = (kind: string, resource: string, plural: string): void =>
    assert.equal(pluralOf({ kind, resource }), plural)
  check('PersistentVolumeClaim', 'persistentvolumeclaims', 'PersistentVolumeClaims')
  check('NetworkPolicy', 'networkpolicies', 'NetworkPolicies')
  check('Ingress', 'ingresses', 'Ingresses')
  check('Foo', 'bars', 'bars')
})

test('isCustomResource leaves out the groups of Kubernetes and resources that cannot be listed', () => {
  const check = (group: string, expected: boolean, verbs = ['get', 'list']): void => {
    const rest = { version: 'v1', resource: 'a', singular: 'a', kind: 'A', namespaced: true }
    const resource = { ...rest, group, verbs, shortNames: [], categories: [], subresources: [] }
    assert.equal(isCustomResource(resource), expected, group)
  }
  check('', false)
  check('apps', false)
  check('storage.k8s.io', false)
  check('example.com', true)
  check('gateway.networking.k8s.io', true)
  check('notk8s.io', true)
  check('example.com', false, ['create'])
})
