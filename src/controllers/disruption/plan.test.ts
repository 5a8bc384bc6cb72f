import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pod } from '#/api/generated/core/v1.ts'
import type { PodDisruptionBudget } from '#/api/generated/policy/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { planDisruptionBudget } from './plan.ts'
import { stored } from '../test-stored.ts'

function podOf(name: string, isReady: boolean): Stored<Pod> {
  const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] }
  return stored({ metadata: { namespace: 'default', name }, ...(isReady && { status }) })
}

test('planDisruptionBudget computes the allowed disruptions', () => {
  const cases: readonly [PodDisruptionBudget['spec'], string, number | undefined, string][] = [
    // Columns: budget, pods (+ ready, - not ready), replicas of their controllers, expected `currentHealthy
    // desiredHealthy expectedPods disruptionsAllowed`.
    [{ minAvailable: 2 }, '+++', 3, '3 2 3 1'],
    [{ minAvailable: 2 }, '++', 2, '2 2 2 0'],
    [{ minAvailable: 2 }, '+--', 3, '1 2 3 0'],
    [{ minAvailable: '50%' }, '+++', 3, '3 2 3 1'],
    [{ minAvailable: '50%' }, '++++', 10, '4 5 10 0'],
    [{ maxUnavailable: 1 }, '+++', 3, '3 2 3 1'],
    [{ maxUnavailable: 1 }, '++-', 3, '2 2 3 0'],
    [{ maxUnavailable: '30%' }, '++++', 4, '4 2 4 2'],
    [{ maxUnavailable: 5 }, '++', 2, '2 0 2 2'],
    [{ minAvailable: 1 }, '', 0, '0 1 0 0'],
    [{ maxUnavailable: 1 }, '++', undefined, '2 0 0 0'],
  ]
  for (const [spec, marks, wanted, expected] of cases) {
    const { status } = planDisruptionBudget({
      budget: { metadata: {}, spec: spec! },
      pods: marks.split('').map((mark, index) => podOf(`p${index}`, mark === '+')),
      scales: wanted === undefined ? [] : [{ uid: 'u', replicas: wanted }],
      nowMs: 0,
    })
    const { currentHealthy, desiredHealthy, expectedPods, disruptionsAllowed } = status
    const got = [currentHealthy, desiredHealthy, expectedPods, disruptionsAllowed].join(' ')
    assert.equal(got, expected, `${JSON.stringify(spec)} ${marks}`)
  }
})

test('no disruption is allowed if the expected pods cannot be computed', () => {
  const budget: PodDisruptionBudget = {
    metadata: {},
    status: { currentHealthy: 3, desiredHealthy: 2, expectedPods: 3, disruptionsAllowed: 1 },
  }
  const { status } = planDisruptionBudget({
    budget,
    pods: [],
    scales: { error: new Error('no such kind') },
    nowMs: 0,
  })
  assert.equal(status.disruptionsAllowed, 0)
  assert.deepEqual(
    status.conditions?.map(({ reason, message }) => [reason, message]),
    [['SyncFailed', 'no such kind']],
  )
})
