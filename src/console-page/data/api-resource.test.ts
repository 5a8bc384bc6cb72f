import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findResource, listPath, objectPath, resourceId, type ApiResource } from './api-resource.ts'

function resource(id: string, kind: string, fields: Partial<ApiResource> = {}): ApiResource {
  const [name = '', ...group] = id.split('.')
  return {
    group: group.join('.'),
    version: 'v1',
    resource: name,
    singular: kind.toLowerCase(),
    kind,
    namespaced: true,
    verbs: [],
    shortNames: [],
    categories: [],
    subresources: [],
    ...fields,
  }
}

const pods = resource('pods', 'Pod', { shortNames: ['po'] })
const nodes = resource('nodes', 'Node', { namespaced: false })
const deployments = resource('deployments.apps', 'Deployment', { shortNames: ['deploy'] })
const podMetrics = resource('pods.metrics.k8s.io', 'PodMetrics')
const all = [pods, nodes, deployments, podMetrics]

test('findResource finds plural, singular, kind, short name and group, the core group first', () => {
  const check = (typed: string, expected: ApiResource | undefined): void =>
    assert.equal(findResource(all, typed), expected, typed)
  check('pods', pods)
  check('Pod', pods)
  check('po', pods)
  check('deploy', deployments)
  check('deployments.apps', deployments)
  check('pods.metrics.k8s.io', podMetrics)
  check('deployments.extensions', undefined)
  check('', undefined)
})

test('listPath and objectPath encode names and leave out the namespace of cluster-scoped resources', () => {
  assert.equal(listPath(pods), '/api/v1/pods')
  assert.equal(listPath(deployments, 'shop'), '/apis/apps/v1/namespaces/shop/deployments')
  assert.equal(listPath(nodes, 'shop'), '/api/v1/nodes')
  assert.equal(objectPath(pods, { namespace: 'a/b', name: '../c' }), '/api/v1/namespaces/a%2Fb/pods/..%2Fc')
})

test('resourceId names the group except for the core group', () => {
  assert.deepEqual(all.map(resourceId), ['pods', 'nodes', 'deployments.apps', 'pods.metrics.k8s.io'])
})
