import type { CronJob, Job } from '#/api/generated/batch/v1.ts'
import { controllerReference, type Named, type Stored } from '#/api/metadata.ts'
import { formatTimeIn } from '#/api/text/time-zone.ts'

/** Unique per scheduled time, so that no Job is created twice for it. */
export function nameOfJob({ metadata }: CronJob, dueMs: number): string {
  return `${metadata.name}-${Math.floor(dueMs / 60_000)}`
}

export function jobOfCronJob(cronJob: Stored<CronJob>, dueMs: number): Named<Job> {
  const { metadata, spec } = cronJob
  const template = spec?.jobTemplate ?? {}
  return {
    metadata: {
      ...(metadata.namespace && { namespace: metadata.namespace }),
      name: nameOfJob(cronJob, dueMs),
      ...(template.metadata?.labels && { labels: template.metadata.labels }),
      annotations: {
        ...template.metadata?.annotations,
        'batch.kubernetes.io/cronjob-scheduled-timestamp': formatTimeIn(spec?.timeZone ?? 'UTC', dueMs),
      },
      ownerReferences: [controllerReference(cronJob)],
    },
    ...(template.spec && { spec: template.spec }),
  }
}
