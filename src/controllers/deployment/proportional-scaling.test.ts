import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Deployment, ReplicaSet } from '#/api/generated/apps/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { rolloutLimitsOf } from './rollout-limits.ts'
import { desiredReplicasAnnotation, maxReplicasAnnotation } from './revisions.ts'
import { isScaled, planProportionalScaling } from './proportional-scaling.ts'
import { stored } from '../test-stored.ts'

/** `size/available`, and `@desired+max` for its annotations; the position determines the age. */
function setFrom(text: string, age: number): Stored<ReplicaSet> {
  const [, size, available = size, desired, max] = /^(\d+)(?:\/(\d+))?(?:@(-?\w+)\+(\w+))?$/.exec(text)!
  return stored<ReplicaSet>({
    metadata: {
      name: `set-${age}`,
      creationTimestamp: `2026-01-01T00:00:0${age}Z`,
      annotations: desired ? { [desiredReplicasAnnotation]: desired, [maxReplicasAnnotation]: max! } : {},
    },
    spec: { replicas: Number(size), selector: {} },
    status: { replicas: Number(size), availableReplicas: Number(available) },
  })
}

/** `replicas maxSurge maxUnavailable`, or only `replicas` for the Recreate strategy. */
function deploymentFrom(text: string): Deployment {
  const [replicas, maxSurge, maxUnavailable] = text
    .split(' ')
    .map(each => (each.endsWith('%') ? each : Number(each)))
  const strategy =
    maxSurge === undefined
      ? { type: 'Recreate' }
      : { type: 'RollingUpdate', rollingUpdate: { maxSurge, maxUnavailable: maxUnavailable! } }
  const spec = { replicas: Number(replicas), strategy, selector: {}, template: {} }
  return { metadata: {}, spec, status: { replicas: 10 } }
}

/** A trailing `-` means that there is no new ReplicaSet. */
function check(deployment: string, sets: string, expected: string): void {
  const isAbsent = sets.endsWith(' -')
  const all = sets.replace(/ -$/, '').split(' ').map(setFrom)
  const newReplicaSet = isAbsent ? undefined : all.at(-1)
  const replicasBySet = planProportionalScaling(deploymentFrom(deployment), {
    newReplicaSet,
    old: isAbsent ? all : all.slice(0, -1),
  })
  assert.equal(all.map(set => replicasBySet.get(set) ?? '=').join(' '), expected, `${deployment}: ${sets}`)
}

test('a single active ReplicaSet gets all replicas, else the newest', () => {
  check('5 1 1', '3@3+4', '5')
  check('5 1 1', '0 3@3+4 0', '= 5 =')
  check('5 1 1', '0 0 0', '= = 5')
  check('5 1 1', '0 0 -', '= 5')
  check('0 1 1', '3@3+4 0', '0 =')
  check('5', '3@3+3', '5')
})

test('several ReplicaSets are scaled in proportion', () => {
  check('30 3 2', '8@10+13 5/0@10+13', '20 13')
  check('12 3 2', '8@10+13 5/0@10+13', '9 6')
  check('5 3 2', '8@10+13 5/0@10+13', '5 3')
  check('0 3 2', '8@10+13 5/0@10+13', '0 0')
  check('10 3 2', '8@10+13 5/0@10+13', '8 5')
  // With equal sizes, the newest grows first and the oldest shrinks first.
  check('11 0 50%', '5@10+10 5@10+10', '5 6')
  check('9 0 50%', '5@10+10 5@10+10', '4 5')
  // Three revisions.
  check('20 0 50%', '5@10+10 3@10+10 2@10+10', '10 6 4')
  // Without a valid annotation, the Deployment's current size is used.
  check('20 0 50%', '5@10+0 5@10+x', '10 10')
  // Scaling up never shrinks a ReplicaSet.
  check('10 0 50%', '5 3@10+10', '7 3')
})

test('old ReplicaSets are scaled to zero when the new one is saturated', () => {
  check('3 1 1', '2@3+4 3/3@3+4', '0 =')
  check('3 1 1', '2@3+4 3/2@3+4', '2 2')
  check('3', '2@3+3 3/3@3+3', '0 =')
  check('3', '2@3+3 3/2@3+3', '= =')
})

test('rounding deletes unavailable pods before available ones', () => {
  check('3 25% 25%', '3/3@4+5 2/0@4+5', '3 1')
  check('3 25% 25%', '2/0@4+5 3/3@4+5', '1 3')
  check('3 25% 25%', '3/1@4+5 2/0@4+5', '2 2')
})

test('isScaled compares the desired-replicas annotation of active ReplicaSets', () => {
  const isNoticed = (deployment: string, sets: string): boolean => {
    const old = sets.split(' ').map(setFrom)
    return isScaled({ newReplicaSet: undefined, old }, rolloutLimitsOf(deploymentFrom(deployment)))
  }
  assert.equal(isNoticed('3 1 1', '3@3+4 0@9+9'), false)
  assert.equal(isNoticed('3 1 1', '3@2+4'), true)
  assert.equal(isNoticed('3 1 1', '3 3@x+4'), false)
  assert.equal(isNoticed('3 1 1', '3@3+4 1@5+4'), true)
  assert.equal(isNoticed('3 1 1', '3@-3+4'), false)
})
