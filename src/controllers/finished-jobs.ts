/** When a job is over: it has completed, or it has failed for good. */
import type { Job, JobCondition } from '#/api/generated/batch/v1.ts'

/** The condition that ended the job; undefined while it goes on. */
export function finishedCondition({ status }: Job): JobCondition | undefined {
  return status?.conditions?.find(({ type, status: holds }) => {
    return (type === 'Complete' || type === 'Failed') && holds === 'True'
  })
}

export function isJobFinished(job: Job): boolean {
  return finishedCondition(job) !== undefined
}
