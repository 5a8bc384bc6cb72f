import type { CronJob, Job, JobSpec } from '#/api/generated/batch/v1.ts'
import type { LabelSelector } from '#/api/generated/meta/v1.ts'
import { compileLabelSelector } from '#/api/selectors/selector.ts'
import { humanDuration } from '#/api/text/duration.ts'
import type { DescribeContext, Describer } from './describer.ts'
import type { DescribeWriter } from './describe-writer.ts'
import { describeEvents } from './sections/events.ts'
import { controlledBy, describeAnnotations, describeLabels } from './sections/metadata.ts'
import { describePodTemplate } from './sections/pod-template.ts'
import { localTime, momentOf } from './sections/times.ts'

export const describeJob: Describer<Job> = async (job, context) => {
  const { writer } = context
  const { metadata, spec } = job
  writer.fields(0, [
    ['Name', metadata.name ?? ''],
    ['Namespace', metadata.namespace ?? ''],
    ['Selector', selectorText(spec?.selector)],
  ])
  describeLabels(writer, job)
  describeAnnotations(writer, job)
  writer.fields(0, [
    controlledBy(job),
    ['Parallelism', spec?.parallelism],
    ['Completions', spec?.completions ?? '<unset>'],
    ['Completion Mode', spec?.completionMode],
    ['Suspend', spec?.suspend],
    ['Backoff Limit', spec?.backoffLimit],
    ['TTL Seconds After Finished', spec?.ttlSecondsAfterFinished],
  ])
  describeJobStatus(job, context)
  describePodTemplate(spec?.template ?? {}, context)
  await describeEvents(job, context)
}

function describeJobStatus({ spec, status = {} }: Job, context: DescribeContext): void {
  const { startTime, completionTime, active = 0, ready, succeeded = 0, failed = 0 } = status
  const deadline = spec?.activeDeadlineSeconds
  const activeText = ready === undefined ? `${active} Active` : `${active} Active (${ready} Ready)`
  context.writer.fields(0, [
    ['Start Time', startTime && localTime(startTime, context)],
    ['Completed At', completionTime && localTime(completionTime, context)],
    ['Duration', durationText(startTime, completionTime)],
    ['Active Deadline Seconds', deadline === undefined ? undefined : `${deadline}s`],
    ['Pods Statuses', `${activeText} / ${succeeded} Succeeded / ${failed} Failed`],
    [
      'Completed Indexes',
      spec?.completionMode === 'Indexed' ? indexesText(status.completedIndexes) : undefined,
    ],
  ])
}

function durationText(start: string | undefined, end: string | undefined): string | undefined {
  const [startMs, endMs] = [momentOf(start), momentOf(end)]
  return startMs === undefined || endMs === undefined ? undefined : humanDuration(endMs - startMs)
}

/** After this number of characters, a list of indexes is cut at the next comma. */
const indexCharactersMax = 50

function indexesText(indexes = ''): string {
  if (indexes === '') return '<none>'
  const comma = indexes.indexOf(',', indexCharactersMax)
  return comma < 0 ? indexes : `${indexes.slice(0, comma + 1)}...`
}

export const describeCronJob: Describer<CronJob> = async (cronJob, context) => {
  const { writer } = context
  const { metadata, spec, status = {} } = cronJob
  const deadline = spec?.startingDeadlineSeconds
  const suspend = spec?.suspend
  writer.fields(0, [
    ['Name', metadata.name ?? ''],
    ['Namespace', metadata.namespace ?? ''],
  ])
  describeLabels(writer, cronJob)
  describeAnnotations(writer, cronJob)
  writer.fields(0, [
    ['Schedule', spec?.schedule ?? ''],
    ['Concurrency Policy', spec?.concurrencyPolicy ?? ''],
    ['Suspend', suspend === undefined ? '<unset>' : suspend ? 'True' : 'False'],
    ['Time Zone', spec?.timeZone ?? '<unset>'],
    ['Successful Job History Limit', spec?.successfulJobsHistoryLimit ?? '<unset>'],
    ['Failed Job History Limit', spec?.failedJobsHistoryLimit ?? '<unset>'],
    ['Starting Deadline Seconds', deadline === undefined ? '<unset>' : `${deadline}s`],
  ])
  describeJobTemplate(writer, spec?.jobTemplate.spec)
  describePodTemplate(spec?.jobTemplate.spec?.template ?? {}, context)
  const names = (status.active ?? []).map(({ name = '' }) => name)
  writer.fields(0, [
    ['Last Schedule Time', status.lastScheduleTime ? localTime(status.lastScheduleTime, context) : '<unset>'],
    ['Active Jobs', names.length === 0 ? '<none>' : names.join(', ')],
  ])
  await describeEvents(cronJob, context)
}

function describeJobTemplate(writer: DescribeWriter, spec: JobSpec | undefined): void {
  const { selector, parallelism, completions, activeDeadlineSeconds } = spec ?? {}
  writer.fields(0, [
    ['Selector', selector ? selectorText(selector) : '<unset>'],
    ['Parallelism', parallelism ?? '<unset>'],
    ['Completions', completions ?? '<unset>'],
    [
      'Active Deadline Seconds',
      activeDeadlineSeconds === undefined ? undefined : `${activeDeadlineSeconds}s`,
    ],
  ])
}

function selectorText(selector: LabelSelector | undefined): string {
  return compileLabelSelector(selector).toString()
}
