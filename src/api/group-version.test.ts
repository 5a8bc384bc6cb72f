import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  formatGroupKind,
  formatGroupResource,
  formatGroupVersionKind,
  formatGroupVersionResource,
  groupVersionKindOf,
  parseGroupKind,
  parseGroupResource,
  parseGroupVersion,
  parseGroupVersionKind,
  parseGroupVersionResource,
  typeMetaOf,
} from './group-version.ts'
import { apiVersionOf } from './resource.ts'

test('parseGroupVersion reads group and version', () => {
  const check = (text: string, expected: readonly [string, string] | undefined): void => {
    const [group, version] = expected ?? []
    assert.deepEqual(parseGroupVersion(text), expected && { group, version })
  }
  check('v1', ['', 'v1'])
  check('apps/v1', ['apps', 'v1'])
  check('', ['', ''])
  check('/', ['', ''])
  check('a/', ['a', ''])
  check('/v1', ['', 'v1'])
  check('a/b/c', undefined)
  check('/'.repeat(100_000), undefined)
})

test('apiVersion and kind convert to a GroupVersionKind and back', () => {
  assert.deepEqual(groupVersionKindOf({ apiVersion: 'apps/v1', kind: 'Deployment' }), {
    group: 'apps',
    version: 'v1',
    kind: 'Deployment',
  })
  assert.deepEqual(groupVersionKindOf({}), { group: '', version: '', kind: '' })
  assert.equal(groupVersionKindOf({ apiVersion: 'a/b/c', kind: 'X' }), undefined)
  const part = fc.stringMatching(/^[a-z.]{1,10}$/)
  fc.assert(
    fc.property(fc.oneof(part, fc.constant('')), part, part, (group, version, kind) => {
      assert.deepEqual(groupVersionKindOf(typeMetaOf({ group, version, kind })), { group, version, kind })
      assert.deepEqual(parseGroupVersion(apiVersionOf({ group, version })), { group, version })
    }),
  )
})

test('group, version and kind are formatted as in messages', () => {
  assert.equal(formatGroupVersionKind({ group: '', version: 'v1', kind: 'Pod' }), '/v1, Kind=Pod')
  assert.equal(
    formatGroupVersionResource({ group: 'apps', version: 'v1', resource: 'deployments' }),
    'apps/v1, Resource=deployments',
  )
  assert.equal(formatGroupResource({ group: 'apps', resource: 'deployments' }), 'deployments.apps')
  assert.equal(formatGroupResource({ group: '', resource: 'pods' }), 'pods')
  assert.equal(formatGroupKind({ group: 'apps', kind: 'Deployment' }), 'Deployment.apps')
  assert.equal(formatGroupKind({ group: '', kind: 'Pod' }), 'Pod')
})

test('resource arguments are parsed in both notations', () => {
  assert.deepEqual(parseGroupResource('pods'), { group: '', resource: 'pods' })
  assert.deepEqual(parseGroupResource('ingresses.networking.k8s.io'), {
    group: 'networking.k8s.io',
    resource: 'ingresses',
  })
  assert.deepEqual(parseGroupKind('Ingress.networking.k8s.io'), {
    group: 'networking.k8s.io',
    kind: 'Ingress',
  })
  assert.deepEqual(parseGroupVersionResource('deployments.v1.apps'), {
    group: 'apps',
    version: 'v1',
    resource: 'deployments',
  })
  assert.deepEqual(parseGroupVersionResource('pods.v1.'), { group: '', version: 'v1', resource: 'pods' })
  assert.deepEqual(parseGroupVersionKind('Deployment.v1.apps'), {
    group: 'apps',
    version: 'v1',
    kind: 'Deployment',
  })
  for (const text of ['', 'pods', 'deployments.apps']) {
    assert.equal(parseGroupVersionResource(text), undefined)
  }
  assert.equal(parseGroupVersionKind('Pod'), undefined)
})
