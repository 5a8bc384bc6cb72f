import assert from 'node:assert/strict'
import { test } from 'node:test'
import { underTest } from '../testdata/check-rules.ts'
import { priorityClassRules } from './priority-class.ts'

const { check, checkUpdate, withDefaults } = underTest(priorityClassRules)

function named(name: string, fields: object): object {
  return { metadata: { name }, ...fields }
}

test('the preemption policy of a PriorityClass defaults to PreemptLowerPriority', () => {
  assert.deepEqual(withDefaults({ value: 1 }), { value: 1, preemptionPolicy: 'PreemptLowerPriority' })
  check({ preemptionPolicy: 'Never' })
  check({ preemptionPolicy: '' }, 'preemptionPolicy: Required value')
  check(
    { preemptionPolicy: 'x' },
    'preemptionPolicy: Unsupported value: "x": supported values: "PreemptLowerPriority", "Never"',
  )
})

test('priorities above the user limit are reserved for system classes', () => {
  check(named('high', { value: 1_000_000_000 }))
  check(
    named('high', { value: 1_000_000_001 }),
    'value: Forbidden: maximum allowed value of a user defined priority is 1000000000',
  )
  check(named('system-node-critical', { value: 2_000_001_000 }))
  const reserved =
    "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system " +
    'use only. error: '
  check(named('system-x', {}), `${reserved}system-x is not a known system priority class`)
  check(
    named('system-cluster-critical', { value: 1 }),
    `${reserved}value of system-cluster-critical PriorityClass must be 2000000000`,
  )
  check(
    named('system-cluster-critical', { value: 2_000_000_000, globalDefault: true }),
    `${reserved}globalDefault of system-cluster-critical PriorityClass must be false`,
  )
})

test('value and preemption policy of a PriorityClass are immutable', () => {
  checkUpdate({ value: 1, description: 'x' }, { value: 1 })
  checkUpdate(
    { value: 2, preemptionPolicy: 'Never' },
    { value: 1 },
    'value: Forbidden: may not be changed in an update.',
    'preemptionPolicy: Invalid value: "Never": field is immutable',
  )
})
