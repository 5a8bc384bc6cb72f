/**
 * CronJobs create a Job at each scheduled time. The Job's name is derived from the scheduled time, so a retry
 * after a crash finds the existing Job instead of creating another.
 * https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/
 */
import { parseTime } from '#/api/text/time.ts'
import { exponentialBuckets } from '#/base/exponential-buckets.ts'
import { messageOf } from '#/base/message-of.ts'
import { isApiError } from '#/api/errors.ts'
import { cronJobs, jobs } from '#/api/generated/batch/v1-resources.ts'
import type { CronJob, CronJobStatus, Job } from '#/api/generated/batch/v1.ts'
import type { ObjectReference } from '#/api/generated/core/v1.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { isControlledBy, type Stored } from '#/api/metadata.ts'
import type { Client } from '#/client/client.ts'
import type { EventRecorder } from '#/client/event-recorder.ts'
import type { Controller, ControllerContext, Reconcile } from './controller.ts'
import { jobOfCronJob } from './cron-job/job-of-cron-job.ts'
import { planCronJob, withoutActive, withStarted, type CronJobPlan } from './cron-job/plan.ts'
import { enqueueForOwner, controllerRefIndex } from './shared/controller-ref-index.ts'

export const cronJobController: Controller = {
  name: 'cronjob-controller',
  queueName: 'cronjob',
  account: 'cronjob-controller',
  setUp,
}

function setUp({ platform, recorder, informer, enqueue, metrics }: ControllerContext): Reconcile {
  const allCronJobs = informer(cronJobs)
  const allJobs = informer(jobs)
  const owned = controllerRefIndex(allJobs)
  const creationSkewSeconds = metrics
    .histogram({
      name: 'cronjob_controller_job_creation_skew_duration_seconds',
      help: 'Time from when a job was due until it was created.',
      buckets: exponentialBuckets(1, 2, 10),
      stability: 'STABLE',
    })
    .with()
  /** Time at which the schedule was last seen to change, by key. */
  const changedAtMs = new Map<string, number>()
  allCronJobs.addEventHandler((key, { oldObject, newObject }) => {
    if (oldObject === undefined || newObject === undefined) changedAtMs.delete(key)
    else if (hasOtherSchedule(oldObject, newObject)) changedAtMs.set(key, platform.clock.now())
    enqueue(key)
  })
  enqueueForOwner(allJobs, cronJobs, key => enqueue(key))

  return async ({ key, client }) => {
    const cronJob = allCronJobs.get(key)
    if (cronJob === undefined) return undefined
    const children = owned.get(cronJob.metadata.uid)
    const plan = planCronJob({
      cronJob,
      jobs: children,
      missing: await findMissing(client, cronJob, children),
      changedMs: changedAtMs.get(key),
      nowMs: platform.clock.now(),
    })
    const onCreated = (skewMs: number): void => creationSkewSeconds.observe(skewMs / 1_000)
    const pass = { client, recorder, cronJob, onCreated }
    for (const event of plan.events) recorder.record(cronJob, event)
    await Promise.all(plan.forget.map(job => removeJob(pass, job.metadata).catch(ignore)))
    const { status, error } = await start(pass, plan)
    if (!equalJson(status, cronJob.status ?? {})) await client.updateStatus(cronJobs, { ...cronJob, status })
    if (error !== undefined) throw error
    return plan.requeueAfterMs === undefined ? undefined : { requeueAfterMs: plan.requeueAfterMs }
  }
}

function hasOtherSchedule({ spec: before }: CronJob, { spec }: CronJob): boolean {
  return before?.schedule !== spec?.schedule || before?.timeZone !== spec?.timeZone
}

/** The uids in `status.active` for which the API server has no Job; the informer may lag. */
async function findMissing(
  client: Client,
  { status }: CronJob,
  children: readonly Job[],
): Promise<ReadonlySet<string>> {
  const known = new Set(children.map(({ metadata }) => metadata.uid))
  const missing = new Set<string>()
  for (const { namespace, name = '', uid = '' } of status?.active ?? []) {
    if (known.has(uid)) continue
    const job = await client.find(jobs, { namespace, name })
    if (job?.metadata.uid !== uid) missing.add(uid)
  }
  return missing
}

interface Pass {
  readonly client: Client
  readonly recorder: EventRecorder
  readonly cronJob: Stored<CronJob>
  readonly onCreated: (skewMs: number) => void
}

interface Started {
  readonly status: CronJobStatus
  /** Reason why the start was incomplete. */
  readonly error?: unknown
}

async function start(pass: Pass, plan: CronJobPlan): Promise<Started> {
  let { status } = plan
  if (plan.startMs === undefined) return { status }
  try {
    for (const reference of plan.replace) {
      await removeJob(pass, reference)
      status = withoutActive(status, reference)
    }
    const job = await createJob(pass, plan.startMs)
    return { status: job === undefined ? status : withStarted(status, job, plan.startMs) }
  } catch (error) {
    return { status, error }
  }
}

/** Undefined if a Job that this CronJob does not control has the name. */
async function createJob(pass: Pass, startMs: number): Promise<Job | undefined> {
  const { client, recorder, cronJob, onCreated } = pass
  const job = jobOfCronJob(cronJob, startMs)
  const { namespace, name } = job.metadata
  try {
    const made = await client.create(jobs, job)
    onCreated((parseTime(made.metadata.creationTimestamp) ?? startMs) - startMs)
    recorder.record(cronJob, { type: 'Normal', reason: 'SuccessfulCreate', message: `Created job ${name}` })
    return made
  } catch (error) {
    if (isApiError(error, 'AlreadyExists')) {
      const other = await client.find(jobs, { namespace, name })
      return other && isControlledBy(other, cronJob) ? other : undefined
    }
    const message = `Error creating job: ${messageOf(error)}`
    recorder.record(cronJob, { type: 'Warning', reason: 'FailedCreate', message })
    throw error
  }
}

async function removeJob(
  { client, recorder, cronJob }: Pass,
  { namespace, name = '', uid = '' }: Pick<ObjectReference, 'namespace' | 'name' | 'uid'>,
): Promise<void> {
  try {
    const options = { propagationPolicy: 'Background', preconditions: { uid } } as const
    await client.delete(jobs, { namespace, name }, options)
    recorder.record(cronJob, { type: 'Normal', reason: 'SuccessfulDelete', message: `Deleted job ${name}` })
  } catch (error) {
    if (isApiError(error, 'NotFound')) return
    const message = `Deleted job: ${messageOf(error)}`
    recorder.record(cronJob, { type: 'Warning', reason: 'FailedDelete', message })
    throw error
  }
}

/** A failed history cleanup is reported by an event and retried by the next reconcile. */
function ignore(): void {}
