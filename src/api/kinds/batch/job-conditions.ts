/** Helpers for job conditions. */
import type { JobCondition } from '../../generated/batch/v1.ts'

export type JobConditionType = 'Complete' | 'Failed' | 'FailureTarget' | 'SuccessCriteriaMet' | 'Suspended'

export function isConditionTrue(
  conditions: readonly JobCondition[] | undefined,
  type: JobConditionType,
): boolean {
  return hasCondition(conditions, type, 'True')
}

export function isConditionFalse(
  conditions: readonly JobCondition[] | undefined,
  type: JobConditionType,
): boolean {
  return hasCondition(conditions, type, 'False')
}

function hasCondition(
  conditions: readonly JobCondition[] | undefined,
  type: string,
  status: string,
): boolean {
  return conditions?.some(condition => condition.type === type && condition.status === status) ?? false
}
