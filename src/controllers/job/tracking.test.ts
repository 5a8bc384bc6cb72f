import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Job, JobStatus } from '#/api/generated/batch/v1.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { countPods } from './pod-counts.ts'
import { findCompletion } from './outcome.ts'
import { completionIndexKey, trackingFinalizer } from './tracked-pods.ts'
import { planFlushUncounted, planUncountedPods, type TrackingWorld } from './tracking.ts'
import { stored } from '../test-stored.ts'

const nowMs = Date.parse('2026-05-04T12:00:00Z')
const now = '2026-05-04T12:00:00Z'

function worldOf(
  spec: Partial<Job['spec']>,
  pods: readonly Stored<Pod>[],
  status?: JobStatus,
): TrackingWorld {
  const complete = { parallelism: 1, template: {}, ...spec } as NonNullable<Job['spec']>
  const job: Job = { metadata: { name: 'work' }, spec: complete, ...(status && { status }) }
  const podCounts = countPods(job, pods)
  const outcome = findCompletion(job, podCounts, podCounts.active.length)
  return { job, pods, podCounts, outcome, created: 0, removed: [], isFinalizerRemoved: false, nowMs }
}

function succeededPods(count: number): readonly Stored<Pod>[] {
  return Array.from({ length: count }, (_, index) =>
    stored({
      metadata: {
        name: `pod-${index}`,
        uid: `uid-${index}`,
        finalizers: [trackingFinalizer],
        annotations: { [completionIndexKey]: String(index) },
      },
      status: { phase: 'Succeeded' },
    }),
  )
}

const released = (pods: readonly Stored<Pod>[]): ReadonlySet<string> => {
  return new Set(pods.map(pod => pod.metadata.uid))
}

test('one sync lists a limited number of uncounted pods, and the job finishes after all are counted', () => {
  const pods = succeededPods(1_200)
  const world = worldOf({ completions: 1_200 }, pods)
  const tracking = planUncountedPods(world)
  assert.equal(tracking.release.length, 500)
  assert.equal(tracking.isPartial, true)
  assert.equal(tracking.status.uncountedTerminatedPods?.succeeded?.length, 500)
  assert.equal(tracking.status.succeeded, undefined)
  const { status, finished } = planFlushUncounted(world, tracking, released(tracking.release))
  assert.equal(status.succeeded, 500)
  assert.deepEqual(status.uncountedTerminatedPods, {})
  assert.equal(finished, undefined)
})

test('all completed indexes are in the status at once', () => {
  const world = worldOf({ completions: 1_200, completionMode: 'Indexed' }, succeededPods(1_200))
  const { status, release } = planUncountedPods(world)
  assert.equal(status.completedIndexes, '0-1199')
  assert.equal(status.succeeded, 1_200)
  assert.equal(release.length, 500)
})

test('a listed pod is counted when its finalizer is removed or it is deleted', () => {
  const [first, second, third] = succeededPods(3)
  const { finalizers: _, ...metadata } = first!.metadata
  const status = { startTime: now, uncountedTerminatedPods: { succeeded: ['uid-0', 'uid-1', 'gone'] } }
  const world = worldOf({ completions: 9 }, [{ ...first!, metadata }, second!, third!], status)
  const tracking = planUncountedPods(world)
  assert.equal(tracking.status.succeeded, 2)
  assert.deepEqual(tracking.status.uncountedTerminatedPods, { succeeded: ['uid-1', 'uid-2'] })
  assert.deepEqual(tracking.release, [second, third])
  const counted = planFlushUncounted(world, tracking, new Set(['uid-2']))
  assert.equal(counted.status.succeeded, 3)
  assert.deepEqual(counted.status.uncountedTerminatedPods, { succeeded: ['uid-1'] })
})

test('an unchanged job status is the same object', () => {
  const status = { startTime: now, ready: 0, terminating: 0, uncountedTerminatedPods: {} }
  assert.equal(planUncountedPods(worldOf({ completions: 1 }, [], status)).status, status)
  const withZeros = { ...status, active: 0, failed: 0 }
  assert.equal(planUncountedPods(worldOf({ completions: 1 }, [], withZeros)).status, withZeros)
})

test('startTime and conditions of started, suspended and resumed jobs', () => {
  const check = (spec: Partial<Job['spec']>, before: JobStatus, expected: string): void => {
    const { startTime, conditions = [] } = planUncountedPods(
      worldOf({ completions: 1, ...spec }, [], before),
    ).status
    const texts = conditions.map(({ type, status, reason }) => `${type}=${status} ${reason}`)
    assert.equal([startTime ?? 'not begun', ...texts].join(', '), expected)
  }
  const earlier = '2026-05-04T11:00:00Z'
  const suspended = (status: string): JobStatus => ({
    conditions: [{ type: 'Suspended', status, reason: 'Any' }],
  })
  check({}, {}, now)
  check({}, { startTime: earlier }, earlier)
  check({ suspend: true }, {}, 'not begun, Suspended=True JobSuspended')
  check({ suspend: true }, { startTime: earlier }, 'not begun, Suspended=True JobSuspended')
  check({ suspend: true }, suspended('True'), 'not begun, Suspended=True Any')
  check({}, suspended('True'), `${now}, Suspended=False JobResumed`)
  check({}, { ...suspended('False'), startTime: earlier }, `${earlier}, Suspended=False Any`)
})
