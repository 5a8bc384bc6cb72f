/** Detects finished Jobs: those with a Complete or Failed condition. */
import type { Job, JobCondition } from '#/api/generated/batch/v1.ts'

/** The Complete or Failed condition; undefined if the Job is not finished. */
export function finishedCondition({ status }: Job): JobCondition | undefined {
  return status?.conditions?.find(({ type, status: holds }) => {
    return (type === 'Complete' || type === 'Failed') && holds === 'True'
  })
}

export function isJobFinished(job: Job): boolean {
  return finishedCondition(job) !== undefined
}
