import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LimitRange, LimitRangeItem, ResourceQuotaSpec } from '../../generated/core/v1.ts'
import { underTest } from '../testdata/check-rules.ts'
import { resourceQuotaRules } from './resource-quota.ts'
import { coreRules } from './group.ts'

const ranges = underTest(coreRules['LimitRange'])
const quotas = underTest(coreRules['ResourceQuota'])

const range = (limit: Partial<LimitRangeItem>) => ({ spec: { limits: [{ type: 'Container', ...limit }] } })
const quota = (spec: ResourceQuotaSpec) => ({ spec })

test('defaults of LimitRange for containers', () => {
  const filled = (limit: Partial<LimitRangeItem>) => {
    return (ranges.withDefaults(range(limit)) as LimitRange).spec?.limits[0]
  }
  assert.deepEqual(filled({ max: { cpu: '2' }, min: { cpu: '1', memory: '1Mi' } }), {
    type: 'Container',
    max: { cpu: '2' },
    min: { cpu: '1', memory: '1Mi' },
    default: { cpu: '2' },
    defaultRequest: { memory: '1Mi', cpu: '2' },
  })
  assert.deepEqual(filled({ type: 'Pod', max: { cpu: '2' } }), { type: 'Pod', max: { cpu: '2' } })
  assert.deepEqual(filled({}), { type: 'Container' })
  assert.deepEqual(filled({ type: 'Pod', max: { cpu: '1u' } }), { type: 'Pod', max: { cpu: '1m' } })
})

test('LimitRange resource names are validated', () => {
  const { check } = ranges
  check(
    range({ type: 'any' }),
    'spec.limits[0].type: Invalid value: "any": must be a standard limit type or fully',
  )
  check(
    range({ type: '' }),
    'spec.limits[0].type: Invalid value: "": name part must be non-empty',
    'spec.limits[0].type: Invalid value: "": name part must consist of',
  )
  check(
    { spec: { limits: [{ type: 'Pod' }, { type: 'Pod' }] } },
    'spec.limits[1].type: Duplicate value: "Pod"',
  )
  check(
    range({ type: 'Pod', max: { pods: '1' } }),
    'spec.limits[0].max[pods]: Invalid value: "pods": must be a standard resource for containers',
  )
  check(
    range({ type: 'Pod', default: { cpu: '1' }, defaultRequest: { cpu: '1' } }),
    "spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'",
    "spec.limits[0].defaultRequest: Forbidden: may not be specified when `type` is 'Pod'",
  )
  check(range({ type: 'PersistentVolumeClaim', max: { storage: '1Gi' } }))
  check(
    range({ type: 'PersistentVolumeClaim', max: { wood: '1' } }),
    'spec.limits[0].max[wood]: Invalid value: "wood": must be a standard resource type or fully qualified',
    'spec.limits[0].limits: Required value: either minimum or maximum storage value is required, but neither',
  )
  check(
    { spec: { limits: [{}] } },
    'spec.limits[0].type: Invalid value: ""',
    'spec.limits[0].type: Invalid value: ""',
  )
})

test('LimitRange min, default and max must be ordered', () => {
  const { check } = ranges
  check(
    range({ type: 'Pod', min: { cpu: '2' }, max: { cpu: '1' } }),
    'spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1',
  )
  check(
    range({ min: { cpu: '2' }, defaultRequest: { cpu: '1' } }),
    'spec.limits[0].defaultRequest[cpu]: Invalid value: "1": min value 2 is greater than default request val',
  )
  check(
    range({ max: { cpu: '1' }, default: { cpu: '2' }, defaultRequest: { cpu: '3' } }),
    'spec.limits[0].defaultRequest[cpu]: Invalid value: "3": default request value 3 is greater than max val',
    'spec.limits[0].defaultRequest[cpu]: Invalid value: "3": default request value 3 is greater than default',
    'spec.limits[0].default[cpu]: Invalid value: "1": default value 2 is greater than max value 1',
  )
  check(
    range({ min: { cpu: '2' }, default: { cpu: '1' }, defaultRequest: { cpu: '2' } }),
    'spec.limits[0].defaultRequest[cpu]: Invalid value: "2": default request value 2 is greater than default',
    'spec.limits[0].default[cpu]: Invalid value: "2": min value 2 is greater than default value 1',
  )
  check(
    range({ default: { 'a.b/gpu': '2' }, defaultRequest: { 'a.b/gpu': '1' } }),
    'spec.limits[0].defaultRequest[a.b/gpu]: Invalid value: "1": default value 2 must equal to defaultReques',
  )
})

test('validation of LimitRange maxLimitRequestRatio', () => {
  const { check } = ranges
  const ratio = (text: string) =>
    range({
      type: 'Pod',
      min: { cpu: '1' },
      max: { cpu: '2' },
      maxLimitRequestRatio: { cpu: text },
    })
  check(ratio('2'))
  check(
    ratio('500m'),
    'spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "500m": ratio 500m is less than 1',
  )
  check(
    ratio('3'),
    'spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "3": ratio 3 is greater than max/min = 2.00000',
  )
})

test('validation of ResourceQuota resources', () => {
  const { check } = quotas
  check(
    quota({ hard: { 'cpu': '1500m', 'pods': '10', 'requests.hugepages-2Mi': '1', 'count/jobs.batch': '1' } }),
  )
  check(
    quota({ hard: { storage: '1', wood: '1', pods: '-1' } }),
    'spec.hard[storage]: Invalid value: "storage": must be a standard resource for quota',
    'spec.hard[wood]: Invalid value: "wood": must be a standard resource type or fully qualified',
    'spec.hard[wood]: Invalid value: "wood": must be a standard resource for quota',
    'spec.hard[pods]: Invalid value: "-1": must be greater than or equal to 0',
  )
  check(quota({ hard: { pods: '1500m' } }), 'spec.hard[pods]: Invalid value: "1500m": must be an integer')
})

test('validation of ResourceQuota scopes', () => {
  const { check } = quotas
  check(quota({ hard: { pods: '1' }, scopes: ['BestEffort'] }))
  check(quota({ scopes: ['Any'] }), 'spec.scopes: Invalid value: ["Any"]: unsupported scope')
  check(
    quota({ hard: { cpu: '1' }, scopes: ['BestEffort'] }),
    'spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource',
  )
  check(quota({ hard: { 'requests.storage': '1Gi' }, scopes: ['VolumeAttributesClass'] }))
  check(
    quota({ scopes: ['Terminating', 'NotTerminating'] }),
    'spec.scopes: Invalid value: ["Terminating","NotTerminating"]: conflicting scopes',
  )
})

test('validation of ResourceQuota scope selectors', () => {
  const { check } = quotas
  const selected = (...matchExpressions: { scopeName: string; operator: string; values?: string[] }[]) => {
    return quota({ scopeSelector: { matchExpressions } })
  }
  const field = 'spec.scopeSelector.matchExpressions'
  check(selected({ scopeName: 'PriorityClass', operator: 'In', values: ['high'] }))
  check(
    selected({ scopeName: 'PriorityClass', operator: 'In' }),
    `${field}.values: Required value: must be at least one value when`,
  )
  check(
    selected({ scopeName: 'PriorityClass', operator: 'Exists', values: ['a'] }),
    `${field}.values: Invalid value: ["a"]: must be no value when`,
  )
  check(
    selected({ scopeName: 'BestEffort', operator: 'In', values: ['a'] }),
    `${field}.operator: Invalid value: "In": must be 'Exists' when scope is any of`,
  )
  check(
    selected({ scopeName: 'Any', operator: 'Likes' }),
    `${field}.scopeName: Invalid value: "Any": unsupported scope`,
    `${field}.operator: Invalid value: "Likes": not a valid selector operator`,
  )
})

test('ResourceQuota scopes are immutable', () => {
  const { checkUpdate, checkStatus } = quotas
  checkUpdate(quota({ scopes: ['BestEffort', 'BestEffort'] }), quota({ scopes: ['BestEffort'] }))
  checkUpdate(
    quota({}),
    quota({ scopes: ['BestEffort'] }),
    'spec.scopes: Invalid value: []: field is immutable',
  )
  checkStatus({ status: { used: { pods: '-1' } } }, {}, 'status.used[pods]: Invalid value: "-1"')
})

test('a ResourceQuota returns warnings for requests above limits', () => {
  const hard = { 'limits.cpu': '1', 'cpu': '2' }
  assert.deepEqual(resourceQuotaRules.warnings?.({ metadata: {}, spec: { hard } }, undefined), [
    'ResourceQuota cpu (2) should be less than limits.cpu (1)',
  ])
})

test('ResourceQuota validation takes linear time', () => {
  const many = Array.from({ length: 50_000 }, (_, index) => `hugepages-${index}`)
  const hard = Object.fromEntries(many.map(name => [name, '1']))
  const errors = resourceQuotaRules.validate?.({ metadata: {}, spec: { hard, scopes: many } }) ?? []
  assert.deepEqual(
    errors.map(error => error.detail),
    ['unsupported scope'],
  )
})
