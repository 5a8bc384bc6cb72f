/** Rules of Job. */
import type { Job, JobSpec } from '../../generated/batch/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { prepareTemplate } from '../pod/pod-preparation.ts'
import { namesOfPods, warningsForName, warningsForTemplate } from '../pod/pod-warnings.ts'
import { semanticEqual } from '../validation/semantic-equal.ts'
import { withField } from '../../copy-on-write.ts'
import { quote } from '../../text/quote.ts'
import { withJobDefaults, withTemplateLabels } from './job-defaults.ts'
import { withGeneratedSelector } from './job-selector.ts'
import { validateJobStatusUpdate } from './job-status-validation.ts'
import { validateJobUpdate } from './job-update-validation.ts'
import { validateJob } from './job-validation.ts'

export const jobRules: KindRules<Job> = {
  tracksGeneration: true,
  withDefaults: withJobDefaults,
  prepareForCreate: job => {
    const generated = withGeneratedSelector(withPreparedTemplate(job))
    const { labels } = job.metadata
    // Labels that were defaulted are those of the template, and get what is generated for it, too.
    const isDefaulted = labels !== undefined && labels === job.spec?.template?.metadata?.labels
    const unlabelled = isDefaulted
      ? { ...generated, metadata: { ...generated.metadata, labels: {} } }
      : generated
    return { ...withTemplateLabels(unlabelled), status: {} }
  },
  prepareForUpdate: withPreparedTemplate,
  validate: validateJob,
  validateUpdate: validateJobUpdate,
  validateStatusUpdate: validateJobStatusUpdate,
  warnings(job, old) {
    if (old !== undefined && semanticEqual(job.spec, old.spec)) return []
    const ofName = old === undefined ? warningsForName(job.metadata.name, namesOfPods) : []
    return [...ofName, ...warningsForJobSpec('spec', job.spec ?? {})]
  },
  orphanDependentsByDefault: true,
  orphanDependentsWarning:
    'child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them' +
    ' or set propagationPolicy=Orphan to suppress this warning',
  selectableFields: { 'status.successful': job => String(job.status?.succeeded ?? 0) },
  unsupportedFieldLabel: field => `field label ${quote(field)} not supported for Job`,
}

function withPreparedTemplate(job: Job): Job {
  return withField(job, 'spec', spec => withField(spec, 'template', prepareTemplate))
}

export function warningsForJobSpec(field: string, spec: Partial<JobSpec>): string[] {
  const { completionMode, completions = 0, parallelism = 0, template } = spec
  const isHuge = completionMode === 'Indexed' && completions > 100_000 && parallelism > 10_000
  const message =
    'In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, ' +
    'Kubernetes might not be able to track completedIndexes when a big number of indexes fail'
  return [...(isHuge ? [`${field}: ${message}`] : []), ...warningsForTemplate(`${field}.template`, template)]
}
