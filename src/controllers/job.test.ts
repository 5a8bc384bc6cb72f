import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jobs } from '#/api/generated/batch/v1-resources.ts'
import type { Job, JobStatus } from '#/api/generated/batch/v1.ts'
import { events, pods } from '#/api/generated/core/v1-resources.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { isBeingDeleted, keyOf } from '#/api/metadata.ts'
import { jobController } from './job.ts'
import { activePods, finishPod, jobOf, runPod } from './job/test-job-pods.ts'
import { hasJobTrackingFinalizer } from './job/tracked-pods.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'
import { bindPod } from './test-pods.ts'

async function statusOf(plane: TestControlPlane): Promise<JobStatus> {
  const [job] = await plane.list(jobs)
  return job?.status ?? {}
}

/** `type=status reason` of each condition. */
function conditionsIn({ conditions = [] }: JobStatus): readonly string[] {
  return conditions.map(({ type, status, reason }) => `${type}=${status} ${reason}`)
}

async function reasonsOf(plane: TestControlPlane): Promise<readonly (string | undefined)[]> {
  return [...new Set((await plane.list(events)).map(event => event.reason))]
}

function show(status: JobStatus): string {
  const { active = 0, ready = 0, terminating = 0, succeeded = 0, failed = 0 } = status
  return `active ${active} ready ${ready} terminating ${terminating} succeeded ${succeeded} failed ${failed}`
}

function changeSpec(plane: TestControlPlane, spec: Partial<Job['spec']>): Promise<Job> {
  return plane.change(jobs, 'default/work', job => ({
    ...job,
    spec: { ...job.spec, ...spec } as Job['spec'],
  }))
}

test('a job runs up to parallelism pods until completions is reached', async t => {
  const plane = await startTestControlPlane(t, [jobController])
  await plane.create(jobs, jobOf({ completions: 3, parallelism: 2 }))
  const first = await activePods(plane)
  assert.equal(first.length, 2)
  for (const pod of first) {
    assert.match(pod.metadata.name, /^work-[a-z0-9]{5}$/)
    assert.deepEqual(pod.metadata.finalizers, ['batch.kubernetes.io/job-tracking'])
    assert.equal(pod.metadata.labels?.['batch.kubernetes.io/job-name'], 'work')
  }
  await runPod(plane, first[0]!)
  assert.equal(show(await statusOf(plane)), 'active 2 ready 1 terminating 0 succeeded 0 failed 0')
  await finishPod(plane, first[0]!, { code: 0 })
  assert.equal(show(await statusOf(plane)), 'active 2 ready 0 terminating 0 succeeded 1 failed 0')
  for (const pod of await activePods(plane)) await finishPod(plane, pod, { code: 0 })
  const { startTime, completionTime, conditions, ...status } = await statusOf(plane)
  assert.deepEqual(status, { ready: 0, succeeded: 3, terminating: 0, uncountedTerminatedPods: {} })
  assert.ok(startTime !== undefined && completionTime !== undefined)
  assert.deepEqual(
    conditions?.map(({ type, status, reason, message }) => [type, status, reason, message]),
    ['SuccessCriteriaMet', 'Complete'].map(type => {
      return [type, 'True', 'CompletionsReached', 'Reached expected number of succeeded pods']
    }),
  )
  assert.deepEqual(await reasonsOf(plane), ['SuccessfulCreate', 'Completed'])
  assert.equal((await plane.list(pods)).filter(hasJobTrackingFinalizer).length, 0)
})

test('without completions, one success suffices after all pods have finished', async t => {
  const plane = await startTestControlPlane(t, [jobController])
  await plane.create(jobs, jobOf({ parallelism: 3 }))
  const [first, ...others] = await activePods(plane)
  await finishPod(plane, first!, { code: 0 })
  assert.equal(show(await statusOf(plane)), 'active 2 ready 0 terminating 0 succeeded 1 failed 0')
  assert.deepEqual(conditionsIn(await statusOf(plane)), [])
  await finishPod(plane, others[0]!, { code: 1 })
  assert.equal((await activePods(plane)).length, 1)
  await finishPod(plane, others[1]!, { code: 0 })
  assert.equal(conditionsIn(await statusOf(plane)).at(-1), 'Complete=True CompletionsReached')
})

test('failed pods are replaced with exponential backoff until backoffLimit is exceeded', async t => {
  const plane = await startTestControlPlane(t, [jobController])
  await plane.create(jobs, jobOf({ backoffLimit: 2 }))
  for (const waitMs of [10_000, 20_000]) {
    const [pod] = await activePods(plane)
    await finishPod(plane, pod!, { code: 1 })
    await plane.advance(waitMs - 3_500)
    assert.deepEqual(await activePods(plane), [])
    await plane.advance(3_500)
    assert.equal((await activePods(plane)).length, 1)
  }
  const [last] = await activePods(plane)
  await finishPod(plane, last!, { code: 1 })
  const status = await statusOf(plane)
  assert.equal(show(status), 'active 0 ready 0 terminating 0 succeeded 0 failed 3')
  assert.deepEqual(conditionsIn(status), [
    'FailureTarget=True BackoffLimitExceeded',
    'Failed=True BackoffLimitExceeded',
  ])
  assert.equal(status.conditions?.[1]?.message, 'Job has reached the specified backoff limit')
  assert.equal(status.completionTime, undefined)
  assert.ok((await reasonsOf(plane)).includes('BackoffLimitExceeded'))
})

test('a job past activeDeadlineSeconds deletes its pods, waits for them and fails', async t => {
  const plane = await startTestControlPlane(t, [jobController])
  await plane.create(jobs, jobOf({ activeDeadlineSeconds: 60, parallelism: 2 }))
  const [first] = await activePods(plane)
  // A bound pod gets its grace period.
  await bindPod(plane, first!, 'node-1')
  await plane.advance(61_000)
  const status = await statusOf(plane)
  assert.equal(show(status), 'active 0 ready 0 terminating 1 succeeded 0 failed 2')
  assert.deepEqual(conditionsIn(status), ['FailureTarget=True DeadlineExceeded'])
  const [left, ...gone] = await plane.list(pods)
  assert.deepEqual(gone, [])
  assert.ok(isBeingDeleted(left!) && !hasJobTrackingFinalizer(left!))
  const at = { namespace: 'default', name: left!.metadata.name }
  await plane.run(plane.client.delete(pods, at, { gracePeriodSeconds: 0 }))
  await plane.advance(2_000)
  assert.equal(conditionsIn(await statusOf(plane)).at(-1), 'Failed=True DeadlineExceeded')
  assert.equal(show(await statusOf(plane)), 'active 0 ready 0 terminating 0 succeeded 0 failed 2')
})

test('a suspended job has no pods and counts none as failed; resuming restarts it', async t => {
  const plane = await startTestControlPlane(t, [jobController])
  await plane.create(jobs, jobOf({ parallelism: 2, completions: 4, activeDeadlineSeconds: 100 }))
  await changeSpec(plane, { suspend: true })
  await plane.advance(2_000)
  const suspended = await statusOf(plane)
  assert.equal(show(suspended), 'active 0 ready 0 terminating 0 succeeded 0 failed 0')
  assert.deepEqual(conditionsIn(suspended), ['Suspended=True JobSuspended'])
  assert.equal(suspended.startTime, undefined)
  assert.deepEqual(await plane.list(pods), [])
  await plane.advance(200_000)
  await changeSpec(plane, { suspend: false })
  await plane.advance(50_000)
  const resumed = await statusOf(plane)
  assert.deepEqual(conditionsIn(resumed), ['Suspended=False JobResumed'])
  assert.equal(show(resumed), 'active 2 ready 0 terminating 0 succeeded 0 failed 0')
  await plane.advance(60_000)
  assert.equal(conditionsIn(await statusOf(plane)).at(-1), 'Failed=True DeadlineExceeded')
  assert.deepEqual(
    (await reasonsOf(plane)).filter(reason => /Suspended|Resumed/.test(reason ?? '')),
    ['Suspended', 'Resumed'],
  )
})

test('changing parallelism deletes or creates pods', async t => {
  const plane = await startTestControlPlane(t, [jobController])
  await plane.create(jobs, jobOf({ parallelism: 4, completions: 10 }))
  const [kept] = await activePods(plane)
  await runPod(plane, kept!)
  await changeSpec(plane, { parallelism: 1 })
  assert.deepEqual((await activePods(plane)).map(keyOf), [keyOf(kept!)])
  await changeSpec(plane, { parallelism: 3 })
  await plane.advance(2_000)
  assert.equal(show(await statusOf(plane)), 'active 3 ready 1 terminating 0 succeeded 0 failed 0')
})

test('a deleted pod counts as failed and is replaced according to podReplacementPolicy', async t => {
  const cases = [
    { policy: 'TerminatingOrFailed', expected: 'active 1 ready 0 terminating 1 succeeded 0 failed 1' },
    { policy: 'Failed', expected: 'active 0 ready 0 terminating 1 succeeded 0 failed 0' },
  ]
  for (const { policy, expected } of cases) {
    const plane = await startTestControlPlane(t, [jobController])
    await plane.create(jobs, jobOf({ podReplacementPolicy: policy }))
    const [pod] = await activePods(plane)
    const at = { namespace: 'default', name: pod!.metadata.name }
    await bindPod(plane, pod!, 'node-1')
    await plane.run(plane.client.delete(pods, at))
    await plane.advance(15_000)
    assert.equal(show(await statusOf(plane)), expected)
    await finishPod(plane, pod!, { code: 143 })
    await plane.advance(30_000)
    assert.equal(show(await statusOf(plane)), 'active 1 ready 0 terminating 0 succeeded 0 failed 1')
  }
})

test('pods of a deleted job lose their tracking finalizer', async t => {
  const plane = await startTestControlPlane(t, [jobController])
  await plane.create(jobs, jobOf({ parallelism: 3 }))
  await plane.run(
    plane.client.delete(jobs, { namespace: 'default', name: 'work' }, { propagationPolicy: 'Background' }),
  )
  await plane.advance(2_000)
  const left = await plane.list(pods)
  assert.equal(left.length, 3)
  assert.equal(left.filter(hasJobTrackingFinalizer).length, 0)
})

test('a job with another managedBy is ignored', async t => {
  const plane = await startTestControlPlane(t, [jobController])
  await plane.create(jobs, jobOf({ managedBy: 'example.com/other' }))
  await plane.advance(5_000)
  assert.deepEqual(await plane.list(pods), [])
  assert.deepEqual(await statusOf(plane), {})
})

test('a settled job causes no writes', async t => {
  const plane = await startTestControlPlane(t, [jobController])
  await plane.create(jobs, jobOf({ parallelism: 2 }))
  await plane.advance(3_000)
  const versions = async (): Promise<unknown> => {
    const objects = [...(await plane.list(jobs)), ...(await plane.list<Pod>(pods))]
    return objects.map(({ metadata }) => metadata.resourceVersion)
  }
  const before = await versions()
  await plane.advance(3_600_000)
  assert.deepEqual(await versions(), before)
})
