/** The `job_controller_*` metrics. */
import { exponentialBuckets } from '#/base/exponential-buckets.ts'
import type { Histogram, MetricsRegistry, ScalarMetric } from '#/base/metrics.ts'
import type { Job } from '#/api/generated/batch/v1.ts'
import { countIndexes, parseIndexRanges } from '#/api/text/index-ranges.ts'
import type { JobOutcome } from './outcome.ts'

export type JobSyncAction = 'reconciling' | 'tracking' | 'pods_created' | 'pods_deleted'
type Result = 'succeeded' | 'failed'

export class JobMetrics {
  readonly #syncDuration: Histogram
  readonly #syncs: ScalarMetric
  readonly #jobsFinished: ScalarMetric
  readonly #podsFinished: ScalarMetric
  readonly #indexesFinished: ScalarMetric
  readonly #podsCreated: ScalarMetric
  readonly #handledFailures: ScalarMetric
  readonly #tracked: ScalarMetric
  readonly #external: ScalarMetric

  constructor(registry: MetricsRegistry) {
    const counter = (name: string, help: string, options: Options): ScalarMetric =>
      registry.counter({ name: `job_controller_${name}`, help, stability: 'ALPHA', ...options })
    const bySync = { labels: ['completion_mode', 'result', 'action'], stability: 'STABLE' } as const
    this.#syncDuration = registry.histogram({
      name: 'job_controller_job_sync_duration_seconds',
      help: 'Duration of a reconcile.',
      buckets: exponentialBuckets(0.004, 2, 15),
      ...bySync,
    })
    this.#syncs = counter('job_syncs_total', 'Reconciles.', bySync)
    this.#jobsFinished = counter('jobs_finished_total', 'Finished jobs.', {
      labels: ['completion_mode', 'result', 'reason'],
      stability: 'STABLE',
    })
    this.#podsFinished = counter('job_pods_finished_total', 'Finished pods that a job has counted.', {
      labels: ['completion_mode', 'result'],
      stability: 'STABLE',
    })
    this.#indexesFinished = counter('job_finished_indexes_total', 'Finished indexes.', {
      labels: ['status', 'backoffLimit'],
    })
    this.#podsCreated = counter('job_pods_creation_total', 'Pods created, by reason.', {
      labels: ['reason', 'status'],
    })
    this.#handledFailures = counter(
      'pod_failures_handled_by_failure_policy_total',
      'Failed pods that a rule of the pod failure policy matched, by action.',
      { labels: ['action'] },
    )
    this.#tracked = counter(
      'terminated_pods_tracking_finalizer_total',
      'Terminated pods with the tracking finalizer that appeared or lost it.',
      { labels: ['event'] },
    )
    this.#external = counter(
      'jobs_by_external_controller_total',
      'Jobs whose managedBy names another controller.',
      { labels: ['controller_name'] },
    )
  }

  synced(job: Job, { isFailed, action, durationMs }: JobSynced): void {
    const labels = [modeOf(job), isFailed ? 'error' : 'success', action] as const
    this.#syncs.with(...labels).add()
    this.#syncDuration.with(...labels).observe(durationMs / 1_000)
  }

  finished(job: Job, { result, reason }: JobOutcome): void {
    this.#jobsFinished.with(modeOf(job), result === 'failure' ? 'failed' : 'succeeded', reason).add()
  }

  /** The status counts more finished pods than before. */
  counted(before: Job, after: Job): void {
    const mode = modeOf(after)
    const add = (metric: ScalarMetric, labels: readonly string[], count: number): void => {
      if (count > 0) metric.with(...labels).add(count)
    }
    for (const result of ['succeeded', 'failed'] as const satisfies readonly Result[]) {
      const count = (after.status?.[result] ?? 0) - (before.status?.[result] ?? 0)
      add(this.#podsFinished, [mode, result], count)
    }
    if (mode !== 'Indexed') return
    const isPerIndex = after.spec?.backoffLimitPerIndex !== undefined
    const limit = isPerIndex ? 'perIndex' : 'global'
    const changeOf = (field: 'completedIndexes' | 'failedIndexes'): number =>
      indexesOf(after.status?.[field], after) - indexesOf(before.status?.[field], before)
    add(this.#indexesFinished, ['succeeded', limit], changeOf('completedIndexes'))
    if (isPerIndex) add(this.#indexesFinished, ['failed', limit], changeOf('failedIndexes'))
  }

  podsCreated(job: Job, created: PodsCreated): void {
    const { succeeded, failed, failedPods, terminatingPods } = created
    const isAfterFailure = job.spec?.podReplacementPolicy === 'Failed' && failedPods > 0
    const isReplacing = failedPods > 0 || terminatingPods > 0
    const reason = isAfterFailure ? 'recreate_failed' : isReplacing ? 'recreate_terminating_or_failed' : 'new'
    if (succeeded > 0) this.#podsCreated.with(reason, 'succeeded').add(succeeded)
    if (failed > 0) this.#podsCreated.with(reason, 'failed').add(failed)
  }

  failureHandled(action: string): void {
    this.#handledFailures.with(action).add()
  }

  trackingFinalizer(event: 'add' | 'delete'): void {
    this.#tracked.with(event).add()
  }

  managedElsewhere(controllerName: string): void {
    this.#external.with(controllerName).add()
  }
}

type Options = Partial<Parameters<MetricsRegistry['counter']>[0]>

export interface JobSynced {
  readonly isFailed: boolean
  readonly action: JobSyncAction
  readonly durationMs: number
}

export interface PodsCreated {
  readonly succeeded: number
  readonly failed: number
  readonly failedPods: number
  readonly terminatingPods: number
}

function modeOf({ spec }: Job): string {
  return spec?.completionMode ?? 'NonIndexed'
}

function indexesOf(text = '', { spec }: Job): number {
  const ranges = parseIndexRanges(text, spec?.completions ?? 0)
  return typeof ranges === 'string' ? 0 : countIndexes(ranges)
}
