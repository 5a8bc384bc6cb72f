import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ReplicaSet } from '#/api/generated/apps/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { rolloutLimitsOf, type RolloutLimits } from './rollout-limits.ts'
import { planRollingUpdate } from './rolling-update.ts'
import { stored } from '../test-stored.ts'

/** `replicas maxSurge maxUnavailable`, as in a manifest. */
function limitsFrom(text: string): RolloutLimits {
  const [replicas, maxSurge, maxUnavailable] = text
    .split(' ')
    .map(each => (each.endsWith('%') ? each : Number(each)))
  const rollingUpdate = { maxSurge: maxSurge!, maxUnavailable: maxUnavailable! }
  const strategy = { type: 'RollingUpdate', rollingUpdate }
  return rolloutLimitsOf({ spec: { replicas: Number(replicas), strategy, selector: {}, template: {} } })
}

/**
 * `size/available`, with `?` if the status is from an earlier generation; the position determines the age.
 */
function setFrom(text: string, age: number): Stored<ReplicaSet> {
  const [, size, available, stale] = /^(\d+)\/(\d+)(\??)$/.exec(text)!
  return stored({
    metadata: { name: `set-${age}`, generation: 2, creationTimestamp: `2026-01-01T00:00:0${age}Z` },
    spec: { replicas: Number(size), selector: {} },
    status: {
      replicas: Number(size),
      availableReplicas: Number(available),
      observedGeneration: stale ? 1 : 2,
    },
  })
}

test('rollout limits round towards progress and never block it', () => {
  const check = (text: string, maxReplicas: number, minAvailable: number): void => {
    const limits = limitsFrom(text)
    assert.deepEqual([limits.maxReplicas, limits.minAvailable], [maxReplicas, minAvailable], text)
  }
  check('10 3 2', 13, 8)
  check('10 25% 25%', 13, 8)
  check('4 25% 25%', 5, 3)
  check('3 25% 25%', 4, 3)
  check('1 25% 25%', 2, 1)
  check('2 0% 1%', 2, 1)
  check('1 0% 1%', 1, 0)
  check('2 1% 0%', 3, 2)
  check('3 0 5', 3, 0)
  check('0 25% 25%', 0, 0)
  check('0 2 0', 2, 0)
  check('10 100% 100%', 20, 0)
  assert.deepEqual(
    rolloutLimitsOf({ spec: { replicas: 3, strategy: { type: 'Recreate' }, selector: {}, template: {} } }),
    {
      replicas: 3,
      maxReplicas: 3,
      minAvailable: 3,
    },
  )
})

test('a step scales the new ReplicaSet up and the old ones down within the limits', () => {
  const check = (limits: string, sets: string, expected: string): void => {
    const all = sets.split(' ').map(setFrom)
    const old = all.slice(0, -1)
    const newReplicaSet = all.at(-1)!
    const replicasBySet = planRollingUpdate({ old, newReplicaSet }, limitsFrom(limits))
    const actual = all.map(set => replicasBySet.get(set) ?? set.spec?.replicas).join(' ')
    assert.equal(actual, expected, `${limits}: ${sets}`)
  }
  check('10 3 2', '10/10 0/0', '8 3')
  check('10 3 2', '8/8 3/0', '8 5')
  check('10 3 2', '8/8 5/0', '8 5')
  check('10 3 2', '8/8 5/3', '5 5')
  check('10 3 2', '0/0 10/4', '0 10')
  check('10 0 2', '10/10 0/0', '8 0')
  check('10 0 2', '8/8 0/0', '8 2')
  check('4 1 0', '4/4 0/0', '4 1')
  check('4 1 0', '4/4 1/1', '3 1')
  check('1 25% 25%', '1/1 0/0', '1 1')
  check('1 25% 25%', '1/1 1/1', '0 1')
  check('2 0% 1%', '2/2 0/0', '1 0')
  // Unhealthy old pods are deleted first, but at least the minimum number of available pods remains, since
  // pods may still become ready.
  check('10 3 2', '8/0 5/0', '8 5')
  check('10 3 2', '10/7 3/0', '8 3')
  check('10 3 2', '10/10 2/0 1/0', '8 0 1')
  check('10 0 0%', '10/0 0/0', '9 0')
  check('3 1 0', '3/3 1/0 0/0', '3 0 0')
  // Of two old ReplicaSets the older is scaled down first.
  check('4 0 2', '2/2 2/2 0/0', '0 2 0')
  check('4 0 2', '2/0 2/2 0/0', '0 2 0')
  // Scaled down during a rollout.
  check('3 1 1', '4/4 2/2', '0 2')
  check('3 1 1', '0/0 5/5', '0 3')
  // A stale status counts neither as available nor as unhealthy.
  check('10 3 2', '8/10? 5/0', '8 5')
  check('10 3 2', '8/10? 5/3', '8 5')
  check('10 3 2', '10/10? 3/3', '10 3')
  check('10 3 2', '10/0? 3/0', '10 3')
  check('10 3 2', '8/8 5/5?', '8 5')
  // A status from before the pods were deleted counts too many.
  check('10 3 2', '8/10 5/0', '8 5')
})
