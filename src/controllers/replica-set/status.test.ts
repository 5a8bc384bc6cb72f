import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pod } from '#/api/generated/core/v1.ts'
import { formatTime } from '#/api/text/time.ts'
import type { ReplicaSetLike } from './replica-set-like.ts'
import { planStatus, type ReplicaFailure } from './status.ts'

const nowMs = Date.UTC(2026, 0, 1)

function setOf(status: ReplicaSetLike['status'] | undefined, kind = 'ReplicaSet'): ReplicaSetLike {
  return {
    kind: kind as 'ReplicaSet',
    metadata: { generation: 3 },
    spec: {
      replicas: 2,
      minReadySeconds: 10,
      selector: {},
      template: { metadata: { labels: { app: 'web', tier: 'front' } } },
    },
    ...(status && { status }),
  }
}

/** Seconds since the pod became ready; undefined if not ready. */
function podOf(ready?: number, labels: Record<string, string> = { app: 'web', tier: 'front' }): Pod {
  const lastTransitionTime = formatTime(nowMs - (ready ?? 0) * 1_000)
  const status = ready === undefined ? 'False' : 'True'
  return { metadata: { labels }, status: { conditions: [{ type: 'Ready', status, lastTransitionTime }] } }
}

interface Pods {
  readonly active?: readonly Pod[]
  readonly terminating?: readonly Pod[]
  readonly failure?: ReplicaFailure
}

function plan(
  set: ReplicaSetLike,
  { active = [], terminating = [], failure }: Pods,
): ReplicaSetLike['status'] {
  return planStatus({ set, active, terminating, failure, nowMs })
}

test('the ReplicaSet status counts pods and omits zeros as upstream does', () => {
  assert.deepEqual(plan(setOf(undefined), {}), { replicas: 0, terminatingReplicas: 0, observedGeneration: 3 })
  const active = [podOf(), podOf(9), podOf(10), podOf(11, { app: 'web' })]
  assert.deepEqual(plan(setOf({ replicas: 1 }), { active, terminating: [podOf(5)] }), {
    replicas: 4,
    fullyLabeledReplicas: 3,
    readyReplicas: 3,
    availableReplicas: 2,
    terminatingReplicas: 1,
    observedGeneration: 3,
  })
})

test('a ReplicationController does not count terminating pods', () => {
  const status = plan(setOf(undefined, 'ReplicationController'), { terminating: [podOf()] })
  assert.deepEqual(status, { replicas: 0, observedGeneration: 3 })
})

test('an unchanged status is the same object, regardless of written zeros', () => {
  const same = { replicas: 0, readyReplicas: 0, terminatingReplicas: 0, observedGeneration: 3 }
  assert.equal(plan(setOf(same), {}), same)
  assert.notEqual(plan(setOf({ ...same, observedGeneration: 2 }), {}), same)
  assert.notEqual(plan(setOf(undefined), {}), undefined)
})

test('the ReplicaFailure condition is kept until there is no failure', () => {
  const failure = (message: string): ReplicaFailure => ({
    reason: 'FailedCreate',
    message,
    error: new Error(message),
  })
  const first = plan(setOf(undefined), { failure: failure('pods "web-1" is forbidden') })
  assert.deepEqual(first?.conditions, [
    {
      type: 'ReplicaFailure',
      status: 'True',
      reason: 'FailedCreate',
      message: 'pods "web-1" is forbidden',
      lastTransitionTime: formatTime(nowMs),
    },
  ])
  assert.equal(plan(setOf(first), { failure: failure('pods "web-2" is forbidden') }), first)
  assert.equal(plan(setOf(first), {})?.conditions, undefined)
})

test('foreign conditions of a ReplicaSet stay', () => {
  const conditions = [{ type: 'Mine', status: 'True' }]
  assert.deepEqual(plan(setOf({ replicas: 0, conditions }), { active: [podOf()] })?.conditions, conditions)
})
