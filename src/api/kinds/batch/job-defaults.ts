/** Defaulting of Job. */
import type { Job, JobSpec, PodFailurePolicy } from '../../generated/batch/v1.ts'
import { int32Max } from '../../text/int64.ts'
import { withPodTemplateDefaults } from '../pod/pod-defaults.ts'
import { mapCopyOnWrite, withDefaults, withField, withMissing } from '../../copy-on-write.ts'

export function withJobDefaults(job: Job): Job {
  return withTemplateLabels(withField(job, 'spec', spec => withCounts(withJobTemplateDefaults(spec))))
}

/** A job without labels gets the labels of its template, including the generated ones. */
export function withTemplateLabels(job: Job): Job {
  const labels = job.spec?.template?.metadata?.labels
  const hasLabels = Object.keys(job.metadata.labels ?? {}).length > 0
  return labels === undefined || hasLabels ? job : { ...job, metadata: { ...job.metadata, labels } }
}

/** Defaults that also apply to the job template of a CronJob. */
export function withJobTemplateDefaults(spec: JobSpec): JobSpec {
  const complete = withField(withMissing(spec, { template: {} }), 'template', withPodTemplateDefaults)
  return withField(complete, 'podFailurePolicy', withPolicyDefaults)
}

function withCounts(spec: JobSpec): JobSpec {
  const { completions, parallelism, backoffLimitPerIndex, podFailurePolicy } = spec
  const counts = completions === undefined && parallelism === undefined ? { completions: 1 } : {}
  return withMissing(spec, {
    ...counts,
    parallelism: 1,
    // With `backoffLimitPerIndex`, the global limit is unlimited by default.
    backoffLimit: backoffLimitPerIndex === undefined ? 6 : int32Max,
    completionMode: 'NonIndexed',
    suspend: false,
    podReplacementPolicy: podFailurePolicy === undefined ? 'TerminatingOrFailed' : 'Failed',
    manualSelector: false,
  })
}

function withPolicyDefaults(policy: PodFailurePolicy): PodFailurePolicy {
  return withField(policy, 'rules', rules =>
    mapCopyOnWrite(rules, rule => {
      return withField(rule, 'onPodConditions', patterns =>
        mapCopyOnWrite(patterns, pattern => {
          return withDefaults(pattern, { status: 'True' })
        }),
      )
    }),
  )
}
