import assert from 'node:assert/strict'
import { test } from 'node:test'
import { builtinResources, defaultResources, resourceOf } from './builtin.ts'
import type { Pod } from './generated/core/v1.ts'
import { subjectAccessReviews } from './generated/authorization/v1-resources.ts'
import { horizontalPodAutoscalers } from './generated/autoscaling/v1-resources.ts'
import { nodes, pods } from './generated/core/v1-resources.ts'
import { events } from './generated/events/v1-resources.ts'
import { networkPolicies } from './generated/networking/v1-resources.ts'
import { structDefinition } from './definitions.ts'
import { apiVersionOf, type Resource } from './resource.ts'

test('built-in resources have names, scope, verbs, subresources and schema', () => {
  const resource: Resource<Pod> = pods
  assert.equal(resource, resourceOf({ group: '', version: 'v1', resource: 'pods' }))
  const { kind, listKind, plural, singular, scope, shortNames, categories } = resource
  assert.deepEqual(
    { kind, listKind, plural, singular, scope, shortNames, categories },
    {
      kind: 'Pod',
      listKind: 'PodList',
      plural: 'pods',
      singular: 'pod',
      scope: 'Namespaced',
      shortNames: ['po'],
      categories: ['all'],
    },
  )
  assert.deepEqual(resource.verbs, [
    'create',
    'delete',
    'deletecollection',
    'get',
    'list',
    'patch',
    'update',
    'watch',
  ])
  assert.equal(resource.schema, structDefinition('core.v1.Pod'))
  assert.deepEqual(
    [...resource.subresources.keys()],
    [
      'attach',
      'binding',
      'ephemeralcontainers',
      'eviction',
      'exec',
      'log',
      'portforward',
      'proxy',
      'resize',
      'status',
    ],
  )
  assert.deepEqual(resource.subresources.get('eviction'), {
    name: 'eviction',
    group: 'policy',
    version: 'v1',
    kind: 'Eviction',
    verbs: ['create'],
  })
  assert.deepEqual(resource.subresources.get('exec'), {
    name: 'exec',
    group: '',
    version: 'v1',
    kind: 'PodExecOptions',
    verbs: ['create', 'get'],
  })
  assert.equal(nodes.scope, 'Cluster')
  assert.equal(networkPolicies.plural, 'networkpolicies')
})

test('the storage version is the most stable one, for events the core version', () => {
  assert.deepEqual(horizontalPodAutoscalers.storage, { group: 'autoscaling', version: 'v2' })
  assert.deepEqual(events.storage, { group: '', version: 'v1' })
  assert.deepEqual(pods.storage, { group: '', version: 'v1' })
})

test('create-only resources have no list kind', () => {
  assert.equal(subjectAccessReviews.listKind, undefined)
  assert.deepEqual(subjectAccessReviews.verbs, ['create'])
})

test('alpha and beta versions are disabled by default', () => {
  const versions = new Set(defaultResources().map(resource => resource.version))
  assert.deepEqual(versions, new Set(['v1', 'v2']))
  const beta = builtinResources().filter(({ version }) => version === 'v1beta1')
  assert.ok(beta.length > 0 && beta.every(({ enabledByDefault }) => !enabledByDefault))
})

test('unknown built-in resources are rejected', () => {
  const key = { group: '', version: 'v1', resource: 'constructor' }
  assert.throws(() => resourceOf(key), /unknown built-in resource/)
})

test('apiVersion of the core group is the version', () => {
  assert.equal(apiVersionOf(pods), 'v1')
  assert.equal(apiVersionOf(networkPolicies), 'networking.k8s.io/v1')
})
