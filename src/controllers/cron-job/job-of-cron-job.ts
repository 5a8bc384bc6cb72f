import type { CronJob, Job } from '#/api/generated/batch/v1.ts'
import { controllerReference } from '#/api/metadata.ts'
import { formatTimeIn } from '#/api/text/time-zone.ts'

/** Unique per scheduled time, so that no Job is created twice for it. */
export function nameOfJob({ metadata }: CronJob, dueMs: number): string {
  return `${metadata.name}-${Math.floor(dueMs / 60_000)}`
}

export function jobOfCronJob(cronJob: CronJob, dueMs: number): Job {
  const { metadata, spec } = cronJob
  const template = spec?.jobTemplate ?? {}
  const reference = controllerReference(cronJob)
  return {
    metadata: {
      ...(metadata.namespace && { namespace: metadata.namespace }),
      name: nameOfJob(cronJob, dueMs),
      ...(template.metadata?.labels && { labels: template.metadata.labels }),
      annotations: {
        ...template.metadata?.annotations,
        'batch.kubernetes.io/cronjob-scheduled-timestamp': formatTimeIn(spec?.timeZone ?? 'UTC', dueMs),
      },
      ...(reference && { ownerReferences: [reference] }),
    },
    ...(template.spec && { spec: template.spec }),
  }
}
