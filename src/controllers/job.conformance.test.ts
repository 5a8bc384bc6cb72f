/** The conformance tests of Jobs; the test acts as scheduler and kubelet. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jobs } from '#/api/generated/batch/v1-resources.ts'
import type { Job, JobStatus } from '#/api/generated/batch/v1.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { controllerOf, keyOf, type Stored } from '#/api/metadata.ts'
import { garbageCollectorController } from './garbage-collector.ts'
import { jobController } from './job.ts'
import { activePods, finishPod, jobOf, runPod, type PodExit } from './job/test-job-pods.ts'
import { completionIndexOf, hasJobTrackingFinalizer } from './job/tracked-pods.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'

const at = { namespace: 'default', name: 'work' }

async function statusOf(plane: TestControlPlane): Promise<JobStatus> {
  return (await plane.run(plane.client.get(jobs, at))).status ?? {}
}

function conditionsIn({ conditions = [] }: JobStatus): readonly string[] {
  return conditions.map(({ type, status, reason }) => `${type}=${status} ${reason}`)
}

/**
 * Finishes every pod with the exit code that the function returns, until no more are created. Returns the
 * number of pods.
 */
async function playAll(
  plane: TestControlPlane,
  endingOf: (index: number, pod: Stored<Pod>) => PodExit | undefined,
): Promise<number> {
  for (let ended = 0; ; ended++) {
    const active = await activePods(plane)
    const next = active.find(pod => endingOf(completionIndexOf(pod) ?? 0, pod) !== undefined)
    if (next === undefined) return ended
    await finishPod(plane, next, endingOf(completionIndexOf(next) ?? 0, next)!)
    await plane.advance(60_000)
  }
}

async function startWith(
  t: Parameters<typeof startTestControlPlane>[0],
  spec: Partial<Job['spec']>,
): Promise<TestControlPlane> {
  const plane = await startTestControlPlane(t, [jobController])
  await plane.create(jobs, jobOf(spec))
  return plane
}

const indexed = { completionMode: 'Indexed', parallelism: 2 }

test('Job should adopt matching orphans and release non-matching pods', async t => {
  const plane = await startWith(t, { parallelism: 2, completions: 2 })
  const [first] = await activePods(plane)
  const key = keyOf(first!)
  await plane.change(pods, key, pod => {
    const { ownerReferences: _, ...metadata } = pod.metadata
    return { ...pod, metadata }
  })
  await plane.advance(2_000)
  const find = async (): Promise<Pod | undefined> => (await plane.list(pods)).find(pod => keyOf(pod) === key)
  const adopted = await find()
  assert.equal(controllerOf(adopted!)?.name, 'work')
  assert.ok(hasJobTrackingFinalizer(adopted!))
  assert.equal((await plane.list(pods)).length, 2)
  await plane.change(pods, key, pod => ({ ...pod, metadata: { ...pod.metadata, labels: {} } }))
  await plane.advance(2_000)
  const released = await find()
  assert.equal(controllerOf(released!), undefined)
  assert.ok(!hasJobTrackingFinalizer(released!))
  assert.equal((await plane.list(pods)).length, 3)
})

test('Job should allow to use a pod failure policy to ignore failure matching on DisruptionTarget', async t => {
  const plane = await startWith(t, {
    ...indexed,
    completions: 2,
    backoffLimit: 0,
    podFailurePolicy: {
      rules: [
        { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
        { action: 'FailJob', onExitCodes: { operator: 'NotIn', values: [0] } },
      ],
    },
  })
  const evicted = await activePods(plane)
  for (const pod of evicted) await finishPod(plane, pod, { code: 137, conditions: ['DisruptionTarget'] })
  await plane.advance(60_000)
  assert.equal(await playAll(plane, () => ({ code: 0 })), 2)
  const status = await statusOf(plane)
  assert.equal(conditionsIn(status).at(-1), 'Complete=True CompletionsReached')
  assert.equal(status.failed, undefined)
})

test('Job should allow to use the pod failure policy on exit code to fail the job early', async t => {
  const plane = await startWith(t, {
    completions: 4,
    parallelism: 2,
    podFailurePolicy: { rules: [{ action: 'FailJob', onExitCodes: { operator: 'In', values: [1] } }] },
  })
  const [failed, running] = await activePods(plane)
  await runPod(plane, running!)
  await finishPod(plane, failed!, { code: 1 })
  const status = await statusOf(plane)
  assert.deepEqual(conditionsIn(status), [
    'FailureTarget=True PodFailurePolicy',
    'Failed=True PodFailurePolicy',
  ])
  const name = failed!.metadata.name
  const message = `Container main for pod default/${name} failed with exit code 1 matching FailJob rule at index 0`
  assert.equal(status.conditions?.at(-1)?.message, message)
  assert.deepEqual(await activePods(plane), [])
})

test('Job should apply changes to a job status', async t => {
  const plane = await startWith(t, { parallelism: 2, completions: 3 })
  const patch = {
    metadata: { annotations: { patchedstatus: 'true' } },
    status: { startTime: '2026-01-01T00:00:00Z' },
  }
  const suspended = await plane.change(jobs, 'default/work', job => {
    return { ...job, spec: { ...job.spec!, suspend: true } }
  })
  assert.equal(suspended.spec?.suspend, true)
  const patched = await plane.run(
    plane.client.patch(jobs, { ...at, subresource: 'status' }, { type: 'merge', patch }),
  )
  assert.equal(patched.metadata.annotations?.['patchedstatus'], 'true')
  const condition = { type: 'StatusUpdate', status: 'True', reason: 'E2E', message: 'Set from a test' }
  const updated = await plane.changeStatus(jobs, 'default/work', job => ({
    ...job,
    status: { ...job.status, conditions: [...(job.status?.conditions ?? []), condition] },
  }))
  assert.ok(updated.status?.conditions?.some(({ type }) => type === 'StatusUpdate'))
  await plane.advance(2_000)
  const read = await plane.run(plane.client.getSubresource<Job>(jobs, { ...at, subresource: 'status' }))
  assert.ok(read.status?.conditions?.some(({ type }) => type === 'StatusUpdate'))
})

test('Job should create pods for an Indexed job with completion indexes and specified hostname', async t => {
  const plane = await startWith(t, { ...indexed, completions: 4 })
  const seen = new Map<number, Stored<Pod>>()
  await playAll(plane, (index, pod) => {
    seen.set(index, pod)
    return { code: 0 }
  })
  const status = await statusOf(plane)
  assert.equal(status.completedIndexes, '0-3')
  assert.equal(conditionsIn(status).at(-1), 'Complete=True CompletionsReached')
  assert.deepEqual(
    [...seen.keys()].sort((a, b) => a - b),
    [0, 1, 2, 3],
  )
  for (const [index, { metadata, spec }] of seen) {
    assert.equal(spec?.hostname, `work-${index}`)
    assert.match(metadata.name, new RegExp(`^work-${index}-`))
    assert.equal(metadata.annotations?.['batch.kubernetes.io/job-completion-index'], String(index))
    assert.equal(metadata.labels?.['batch.kubernetes.io/job-completion-index'], String(index))
    assert.equal(spec?.containers[0]?.env?.[0]?.name, 'JOB_COMPLETION_INDEX')
  }
})

test('Job should delete a job', async t => {
  for (const propagationPolicy of ['Foreground', 'Background'] as const) {
    const plane = await startTestControlPlane(t, [jobController, garbageCollectorController])
    await plane.create(jobs, jobOf({ parallelism: 2, completions: 4 }))
    assert.equal((await activePods(plane)).length, 2)
    await plane.run(plane.client.delete(jobs, at, { propagationPolicy }))
    await plane.advance(10_000)
    assert.deepEqual(await plane.list(jobs), [])
    assert.deepEqual(await plane.list(pods), [])
  }
})

test('Job should execute all indexes despite some failing when using backoffLimitPerIndex', async t => {
  const plane = await startWith(t, { ...indexed, completions: 4, backoffLimitPerIndex: 1 })
  const ended = await playAll(plane, index => ({ code: index % 2 }))
  assert.equal(ended, 6)
  const status = await statusOf(plane)
  assert.deepEqual(conditionsIn(status), ['FailureTarget=True FailedIndexes', 'Failed=True FailedIndexes'])
  assert.equal(status.conditions?.at(-1)?.message, 'Job has failed indexes')
  const { succeeded, failed, completedIndexes, failedIndexes } = status
  assert.deepEqual(
    { succeeded, failed, completedIndexes, failedIndexes },
    { succeeded: 2, failed: 4, completedIndexes: '0,2', failedIndexes: '1,3' },
  )
})

test('Job should manage the lifecycle of a job', async t => {
  const plane = await startWith(t, { suspend: true })
  const labels = { 'e2e-work': 'patched' }
  const patched = await plane.run(
    plane.client.patch(jobs, at, { type: 'strategic', patch: { metadata: { labels } } }),
  )
  assert.equal(patched.metadata.labels?.['e2e-work'], 'patched')
  const updated = await plane.change(jobs, 'default/work', job => ({
    ...job,
    metadata: { ...job.metadata, annotations: { updated: 'true' } },
  }))
  assert.equal(updated.metadata.annotations?.['updated'], 'true')
  const listed = await plane.run(plane.client.list(jobs, { labelSelector: 'e2e-work=patched' }))
  assert.equal(listed.items.length, 1)
  const selected = { namespace: 'default', labelSelector: 'e2e-work=patched' }
  await plane.run(plane.client.deleteCollection(jobs, { ...selected, propagationPolicy: 'Background' }))
  await plane.settle()
  assert.deepEqual(await plane.list(jobs), [])
})

test('Job should mark indexes as failed when the FailIndex action is matched in podFailurePolicy', async t => {
  const plane = await startWith(t, {
    ...indexed,
    completions: 2,
    backoffLimitPerIndex: 1,
    podFailurePolicy: { rules: [{ action: 'FailIndex', onExitCodes: { operator: 'In', values: [2] } }] },
  })
  assert.equal(await playAll(plane, index => ({ code: index === 0 ? 2 : 0 })), 2)
  const { failedIndexes, completedIndexes, failed, ...status } = await statusOf(plane)
  assert.deepEqual(
    { failedIndexes, completedIndexes, failed },
    { failedIndexes: '0', completedIndexes: '1', failed: 1 },
  )
  assert.equal(conditionsIn(status).at(-1), 'Failed=True FailedIndexes')
})

test('Job should run a job to completion when tasks sometimes fail and are locally restarted', async t => {
  const template = { spec: { restartPolicy: 'OnFailure', containers: [{ name: 'main', image: 'main' }] } }
  const plane = await startWith(t, { parallelism: 2, completions: 4, template })
  for (let completed = 0; completed < 4; completed += 2) {
    const running = await activePods(plane)
    assert.equal(running.length, 2)
    for (const pod of running) {
      await plane.changeStatus(pods, keyOf(pod), each => ({
        ...each,
        status: {
          phase: 'Running',
          containerStatuses: [{ name: 'main', image: 'main', imageID: '', ready: true, restartCount: 1 }],
        },
      }))
    }
    for (const pod of running) await finishPod(plane, pod, { code: 0 })
  }
  const status = await statusOf(plane)
  assert.equal(conditionsIn(status).at(-1), 'Complete=True CompletionsReached')
  assert.equal(status.succeeded, 4)
  assert.equal(status.failed, undefined)
})

test('Job should terminate job execution when the number of failed indexes exceeds maxFailedIndexes', async t => {
  const plane = await startWith(t, {
    ...indexed,
    parallelism: 1,
    completions: 10,
    backoffLimitPerIndex: 0,
    maxFailedIndexes: 4,
  })
  assert.equal(await playAll(plane, () => ({ code: 1 })), 5)
  const status = await statusOf(plane)
  assert.equal(conditionsIn(status).at(-1), 'Failed=True MaxFailedIndexesExceeded')
  assert.equal(status.failedIndexes, '0-4')
  const message = 'Job has exceeded the specified maximal number of failed indexes'
  assert.equal(status.conditions?.at(-1)?.message, message)
})

test('Job with successPolicy should succeeded when all indexes succeeded', async t => {
  const successPolicy = { rules: [{ succeededCount: 2 }] }
  const plane = await startWith(t, { ...indexed, completions: 2, successPolicy })
  await playAll(plane, () => ({ code: 0 }))
  const status = await statusOf(plane)
  assert.deepEqual(conditionsIn(status), [
    'SuccessCriteriaMet=True SuccessPolicy',
    'Complete=True SuccessPolicy',
  ])
  assert.equal(status.completedIndexes, '0,1')
})

const early = {
  'succeededCount rule': { rules: [{ succeededCount: 1 }] },
  'succeededIndexes rule': { rules: [{ succeededIndexes: '0' }] },
}
for (const [name, successPolicy] of Object.entries(early)) {
  test(`Job with successPolicy ${name} should succeeded even when some indexes remain pending`, async t => {
    const plane = await startWith(t, { ...indexed, completions: 5, successPolicy })
    assert.equal(await playAll(plane, index => (index === 0 ? { code: 0 } : undefined)), 1)
    const status = await statusOf(plane)
    assert.deepEqual(conditionsIn(status), [
      'SuccessCriteriaMet=True SuccessPolicy',
      'Complete=True SuccessPolicy',
    ])
    assert.equal(status.conditions?.at(-1)?.message, 'Matched rules at index 0')
    assert.equal(status.completedIndexes, '0')
    assert.equal(status.failed, undefined)
    assert.deepEqual(await activePods(plane), [])
  })
}
