/** Rules of Job. */
import type { Job } from '../../generated/batch/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { prepareTemplate } from '../pod/pod-preparation.ts'
import { namesOfPods, warningsForName } from '../pod/pod-warnings.ts'
import { semanticEqual } from '../validation/semantic-equal.ts'
import { withField } from '../../copy-on-write.ts'
import { withJobDefaults, withTemplateLabels } from './job-defaults.ts'
import { withGeneratedSelector } from './job-selector.ts'
import { validateJobStatusUpdate } from './job-status-validation.ts'
import { validateJobUpdate } from './job-update-validation.ts'
import { validateJob } from './job-validation.ts'
import { orphanDependentsWarning, warningsForJobSpec } from './job-warnings.ts'

export const jobRules: KindRules<Job> = {
  tracksGeneration: true,
  withDefaults: withJobDefaults,
  prepareForCreate: job => ({
    ...withTemplateLabels(withGeneratedSelector(withPreparedTemplate(job))),
    status: {},
  }),
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
  orphanDependentsWarning,
  selectableFields: { 'status.successful': job => String(job.status?.succeeded ?? 0) },
}

function withPreparedTemplate(job: Job): Job {
  return withField(job, 'spec', spec => withField(spec, 'template', prepareTemplate))
}
