import assert from 'node:assert/strict'
import { test } from 'node:test'
import { underTest } from '../testdata/check-rules.ts'
import { podDisruptionBudgetRules } from './pod-disruption-budget.ts'

const { check, checkStatus } = underTest(podDisruptionBudgetRules)

test('a PodDisruptionBudget requires exactly one of minAvailable and maxUnavailable', () => {
  check({})
  check({ spec: { minAvailable: 1 } })
  check({ spec: { maxUnavailable: '100%' } })
  check(
    { spec: { minAvailable: 1, maxUnavailable: 1 } },
    'spec: Invalid value: {"minAvailable":1,"maxUnavailable":1}: minAvailable and maxUnavailable cannot be both set',
  )
  check(
    { spec: { minAvailable: -1 } },
    'spec.minAvailable: Invalid value: -1: must be greater than or equal to 0',
  )
  check(
    { spec: { minAvailable: 'half' } },
    'spec.minAvailable: Invalid value: "half": a valid percent string must',
  )
  check(
    { spec: { maxUnavailable: '101%' } },
    'spec.maxUnavailable: Invalid value: "101%": must not be greater than 100%',
  )
  check({ spec: { maxUnavailable: `${'9'.repeat(400)}%` } }, 'spec.maxUnavailable: Invalid value: "9')
})

test('validation of PodDisruptionBudget selector and unhealthyPodEvictionPolicy', () => {
  check(
    { spec: { selector: { matchExpressions: [{}] } } },
    'spec.selector.matchExpressions[0].operator: Invalid value: ',
    'spec.selector.matchExpressions[0].key: Invalid value: ',
    'spec.selector.matchExpressions[0].key: Invalid value: ',
  )
  check(
    { spec: { unhealthyPodEvictionPolicy: 'Never' } },
    'spec.unhealthyPodEvictionPolicy: Unsupported value: "Never": supported values: "AlwaysAllow", "IfHealthyBudget"',
  )
})

test('validation of PodDisruptionBudget status', () => {
  const healthy = {
    type: 'Healthy',
    status: 'True',
    reason: 'Enough',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  }
  checkStatus({ status: { conditions: [healthy] } }, {})
  checkStatus(
    { status: { conditions: [healthy, healthy], expectedPods: -1 } },
    {},
    'status.conditions[1].type: Duplicate value: "Healthy"',
    'status.expectedPods: Invalid value: -1',
  )
  checkStatus(
    { status: { conditions: [{ type: 'a b', reason: '1x', observedGeneration: -1 }] } },
    {},
    'status.conditions[0].type: Invalid value: "a b"',
    'status.conditions[0].status: Unsupported value: "": supported values: "False", "True", "Unknown"',
    'status.conditions[0].observedGeneration: Invalid value: -1: must be greater than or equal to zero',
    'status.conditions[0].lastTransitionTime: Required value',
    'status.conditions[0].reason: Invalid value: "1x": a condition reason must start with alphabetic character',
  )
  checkStatus(
    { status: { conditions: [{ ...healthy, message: 'x'.repeat(32_769) }] } },
    {},
    'status.conditions[0].message: Too long: may not be more than 32768 bytes',
  )
})

test('a PodDisruptionBudget tracks its generation and forbids unconditional updates', () => {
  assert.equal(podDisruptionBudgetRules.tracksGeneration, true)
  assert.equal(podDisruptionBudgetRules.allowUnconditionalUpdate, false)
})
