import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { APIService } from '#/api/generated/apiregistration/v1.ts'
import { automanagedLabel, localApiService, planRegistration } from './plan-registration.ts'

test('built-in group versions are registered once, those of custom resources are kept', () => {
  const builtin = localApiService({ group: 'apps', version: 'v1' }, false)!
  const custom = localApiService({ group: 'example.com', version: 'v1' }, true)!
  const labelled = (apiService: APIService, label?: string): APIService => ({
    ...apiService,
    metadata: { ...apiService.metadata, labels: label === undefined ? {} : { [automanagedLabel]: label } },
  })
  const changed = (apiService: APIService): APIService => ({
    ...apiService,
    spec: { ...apiService.spec!, versionPriority: 7 },
  })
  /** Expected during the start, and later. */
  const check = (
    desired: APIService | undefined,
    current: APIService | undefined,
    [atStart, later]: readonly [string, string],
  ): void => {
    const text = JSON.stringify([desired, current])
    assert.equal(planRegistration({ desired, current, isStarting: true }), atStart, text)
    assert.equal(planRegistration({ desired, current, isStarting: false }), later, text)
  }
  check(undefined, undefined, ['none', 'none'])
  check(builtin, undefined, ['create', 'none'])
  check(custom, undefined, ['create', 'create'])
  // Those of others.
  check(undefined, labelled(custom), ['none', 'none'])
  check(builtin, labelled(changed(builtin)), ['none', 'none'])
  check(custom, labelled(changed(custom)), ['none', 'none'])
  check(custom, labelled(changed(custom), 'false'), ['none', 'none'])
  // Kept once.
  check(undefined, builtin, ['delete', 'none'])
  check(builtin, builtin, ['none', 'none'])
  check(builtin, changed(builtin), ['update', 'none'])
  check(custom, changed(labelled(custom, 'onstart')), ['update', 'none'])
  // Kept at any time.
  check(undefined, custom, ['delete', 'delete'])
  check(custom, custom, ['none', 'none'])
  check(custom, changed(custom), ['update', 'update'])
  const served = { ...custom, spec: { ...custom.spec!, service: { namespace: 'a', name: 'b' } } }
  check(custom, served, ['update', 'update'])
})

test('local APIServices have the priorities of Kubernetes', () => {
  const check = (apiVersion: string, isCustom: boolean, expected: string | undefined): void => {
    const [version = '', group = ''] = apiVersion.split('/').toReversed()
    const found = localApiService({ group, version }, isCustom)
    const { groupPriorityMinimum, versionPriority } = found?.spec ?? {}
    const label = found?.metadata.labels?.[automanagedLabel]
    const text = found && `${found.metadata.name} ${groupPriorityMinimum} ${versionPriority} ${label}`
    assert.equal(text, expected, apiVersion)
  }
  check('v1', false, 'v1. 18000 1 onstart')
  check('apps/v1', false, 'v1.apps 17800 15 onstart')
  check('autoscaling/v2', false, 'v2.autoscaling 17500 30 onstart')
  check('example.com/v1beta1', true, 'v1beta1.example.com 1000 100 true')
  check('apiregistration.k8s.io/v1', false, undefined)
  check('metrics.k8s.io/v1beta1', false, undefined)
})
