import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cronJobs, jobs } from '#/api/generated/batch/v1-resources.ts'
import type { CronJob, Job } from '#/api/generated/batch/v1.ts'
import { events } from '#/api/generated/core/v1-resources.ts'
import { controllerOf, keyOf, type Stored } from '#/api/metadata.ts'
import { formatTime, parseTime } from '#/api/text/time.ts'
import { cronJobController } from './cron-job.ts'
import { isJobFinished } from './shared/finished-jobs.ts'
import { crashingController } from './test-crashes.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'

const minuteMs = 60_000

function cronJobOf(spec: Partial<CronJob['spec']> = {}): CronJob {
  const container = { name: 'main', image: 'main' }
  const template = { spec: { restartPolicy: 'Never', containers: [container] } }
  return {
    metadata: { namespace: 'default', name: 'cron' },
    spec: {
      schedule: '* * * * *',
      jobTemplate: {
        metadata: { labels: { app: 'cron' }, annotations: { note: 'kept' } },
        spec: { template },
      },
      ...spec,
    },
  }
}

async function complete(plane: TestControlPlane, job: Stored<Job>): Promise<void> {
  const now = formatTime(plane.platform.clock.now())
  const condition = { status: 'True', reason: 'CompletionsReached', lastTransitionTime: now }
  await plane.changeStatus(jobs, keyOf(job), each => ({
    ...each,
    status: {
      startTime: now,
      completionTime: now,
      conditions: ['SuccessCriteriaMet', 'Complete'].map(type => ({ ...condition, type })),
    },
  }))
}

async function find(plane: TestControlPlane): Promise<CronJob> {
  return plane.run(plane.client.get(cronJobs, { namespace: 'default', name: 'cron' }))
}

async function reasonsOf(plane: TestControlPlane): Promise<ReadonlySet<string | undefined>> {
  return new Set((await plane.list(events)).map(event => event.reason))
}

const running = async (plane: TestControlPlane): Promise<readonly Stored<Job>[]> => {
  return (await plane.list(jobs)).filter(job => !isJobFinished(job))
}

test('a CronJob starts a job every minute, named by the time, and records its end', async t => {
  const plane = await startTestControlPlane(t, [cronJobController])
  await plane.create(cronJobs, cronJobOf({ timeZone: 'Asia/Tokyo' }))
  await plane.advance(minuteMs)
  const [job, ...more] = await plane.list(jobs)
  assert.deepEqual(more, [])
  const cronJob = await find(plane)
  const dueMs = parseTime(cronJob.status?.lastScheduleTime ?? '')!
  assert.equal(dueMs % minuteMs, 0)
  assert.equal(job?.metadata.name, `cron-${dueMs / minuteMs}`)
  assert.equal(controllerOf(job)?.uid, cronJob.metadata.uid)
  assert.equal(job?.metadata.labels?.['app'], 'cron')
  const { note, ...annotations } = job?.metadata.annotations ?? {}
  assert.equal(note, 'kept')
  const timestamp = annotations['batch.kubernetes.io/cronjob-scheduled-timestamp'] ?? ''
  assert.match(timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:00\+09:00$/)
  assert.equal(parseTime(timestamp), dueMs)
  const [reference] = cronJob.status?.active ?? []
  assert.deepEqual(
    [reference?.kind, reference?.apiVersion, reference?.name, reference?.uid],
    ['Job', 'batch/v1', job?.metadata.name, job?.metadata.uid],
  )
  await complete(plane, job)
  const after = await find(plane)
  assert.equal(after.status?.active, undefined)
  assert.ok(after.status?.lastSuccessfulTime !== undefined)
  assert.deepEqual(await reasonsOf(plane), new Set(['SuccessfulCreate', 'SawCompletedJob']))
})

test('finished jobs beyond the history limits are deleted', async t => {
  const plane = await startTestControlPlane(t, [cronJobController])
  await plane.create(cronJobs, cronJobOf({ successfulJobsHistoryLimit: 2 }))
  const names: (string | undefined)[] = []
  for (let minute = 0; minute < 4; minute++) {
    await plane.advance(minuteMs - 2_000)
    for (const job of await running(plane)) {
      names.push(job.metadata.name)
      await complete(plane, job)
    }
    await plane.advance(1_000)
  }
  assert.ok(names.length >= 3)
  const kept = (await plane.list(jobs)).filter(isJobFinished)
  assert.deepEqual(
    kept.map(job => job.metadata.name),
    names.slice(-2),
  )
  assert.ok((await reasonsOf(plane)).has('SuccessfulDelete'))
})

test('a changed schedule starts no job that was due before', async t => {
  const plane = await startTestControlPlane(t, [cronJobController])
  await plane.create(cronJobs, cronJobOf({ schedule: '0 0 1 1 *' }))
  await plane.advance(10 * minuteMs)
  await plane.change(cronJobs, 'default/cron', each => ({
    ...each,
    spec: { ...each.spec, schedule: '*/2 * * * *' },
  }))
  assert.deepEqual(await plane.list(jobs), [])
  await plane.advance(2 * minuteMs)
  assert.equal((await plane.list(jobs)).length, 1)
})

test('CronJob should not schedule jobs when suspended', async t => {
  const plane = await startTestControlPlane(t, [cronJobController])
  await plane.create(cronJobs, cronJobOf({ suspend: true }))
  await plane.advance(5 * minuteMs)
  assert.deepEqual(await plane.list(jobs), [])
  await plane.change(cronJobs, 'default/cron', each => ({ ...each, spec: { ...each.spec, suspend: false } }))
  assert.equal((await plane.list(jobs)).length, 1)
})

test('CronJob should not schedule new jobs when ForbidConcurrent', async t => {
  const plane = await startTestControlPlane(t, [cronJobController])
  await plane.create(cronJobs, cronJobOf({ concurrencyPolicy: 'Forbid' }))
  await plane.advance(5 * minuteMs)
  const [job, ...more] = await plane.list(jobs)
  assert.deepEqual(more, [])
  assert.equal((await find(plane)).status?.active?.length, 1)
  assert.ok((await reasonsOf(plane)).has('JobAlreadyActive'))
  await complete(plane, job!)
  assert.equal((await running(plane)).length, 1)
})

test('CronJob should replace jobs when ReplaceConcurrent', async t => {
  const plane = await startTestControlPlane(t, [cronJobController])
  await plane.create(cronJobs, cronJobOf({ concurrencyPolicy: 'Replace' }))
  await plane.advance(minuteMs)
  const [first] = await plane.list(jobs)
  await plane.advance(minuteMs)
  const [second, ...more] = await plane.list(jobs)
  assert.deepEqual(more, [])
  assert.notEqual(second?.metadata.name, first?.metadata.name)
  assert.deepEqual(
    (await find(plane)).status?.active?.map(({ uid }) => uid),
    [second?.metadata.uid],
  )
})

test('CronJob should schedule multiple jobs concurrently', async t => {
  const plane = await startTestControlPlane(t, [cronJobController])
  await plane.create(cronJobs, cronJobOf({ concurrencyPolicy: 'Allow' }))
  await plane.advance(2 * minuteMs)
  assert.equal((await running(plane)).length, 2)
  assert.equal((await find(plane)).status?.active?.length, 2)
})

test('CronJob should support CronJob API operations', async t => {
  const plane = await startTestControlPlane(t, [cronJobController])
  const { client, run } = plane
  const at = { namespace: 'default', name: 'cron' }
  const created = await plane.create(cronJobs, cronJobOf({ suspend: true }))
  const watch = client.watch(cronJobs, {
    namespace: 'default',
    resourceVersion: created.metadata.resourceVersion,
  })
  const watched = watch[Symbol.asyncIterator]()
  const labels = { patched: 'true' }
  await run(client.patch(cronJobs, at, { type: 'merge', patch: { metadata: { labels } } }))
  const seen = await run(watched.next())
  assert.equal(seen.value.type, 'MODIFIED')
  await run(watched.return!())
  await plane.change(cronJobs, 'default/cron', each => ({
    ...each,
    metadata: { ...each.metadata, annotations: { updated: 'true' } },
  }))
  const listed = await run(client.list(cronJobs, { labelSelector: 'patched=true' }))
  assert.equal(listed.items[0]?.metadata.annotations?.['updated'], 'true')
  const lastScheduleTime = '2026-01-01T00:00:00Z'
  const patch = { status: { lastScheduleTime } }
  await run(client.patch(cronJobs, { ...at, subresource: 'status' }, { type: 'merge', patch }))
  const later = '2026-01-02T00:00:00Z'
  await plane.changeStatus(cronJobs, 'default/cron', each => ({
    ...each,
    status: { ...each.status, lastScheduleTime: later },
  }))
  const read = await run(client.getSubresource<CronJob>(cronJobs, { ...at, subresource: 'status' }))
  assert.equal(read.status?.lastScheduleTime, later)
  await run(client.deleteCollection(cronJobs, { namespace: 'default', labelSelector: 'patched=true' }))
  assert.deepEqual(await plane.list(cronJobs), [])
})

test('after a crash at any write, no job is started twice for one time', async t => {
  for (let writes = 1; writes <= 5; writes++) {
    const { controller, hasCrashed } = crashingController(cronJobController, writes)
    const plane = await startTestControlPlane(t, [controller])
    await plane.create(cronJobs, cronJobOf({ concurrencyPolicy: 'Replace' }))
    await plane.advance(3 * minuteMs)
    assert.ok(hasCrashed())
    const left = await plane.list(jobs)
    const { status } = await find(plane)
    assert.equal(left.length, 1, `${writes} writes`)
    assert.deepEqual(
      status?.active?.map(({ uid }) => uid),
      [left[0]?.metadata.uid],
    )
  }
})
