/** Warnings for jobs that are accepted. */
import type { JobSpec } from '../../generated/batch/v1.ts'
import { warningsForTemplate } from '../pod/pod-warnings.ts'

export function warningsForJobSpec(field: string, spec: Partial<JobSpec>): string[] {
  const { completionMode, completions = 0, parallelism = 0, template } = spec
  const isHuge = completionMode === 'Indexed' && completions > 100_000 && parallelism > 10_000
  const message =
    'In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, ' +
    'Kubernetes might not be able to track completedIndexes when a big number of indexes fail'
  return [...(isHuge ? [`${field}: ${message}`] : []), ...warningsForTemplate(`${field}.template`, template)]
}

export const orphanDependentsWarning =
  'child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them' +
  ' or set propagationPolicy=Orphan to suppress this warning'
