/** Facts of the group that the generated definitions lack; only the generator reads them. */
import { mergedAtomic, set, type Overlay } from '../overlay.ts'

export const batchOverlay: Overlay = {
  merging: {
    'JobStatus.conditions': mergedAtomic('type'),
    'PodFailurePolicyOnExitCodesRequirement.values': set,
    'UncountedTerminatedPods.failed': set,
    'UncountedTerminatedPods.succeeded': set,
  },
  enums: {
    CompletionMode: ['Indexed', 'NonIndexed'],
    ConcurrencyPolicy: ['Allow', 'Forbid', 'Replace'],
    PodFailurePolicyAction: ['Count', 'FailIndex', 'FailJob', 'Ignore'],
    PodFailurePolicyOnExitCodesOperator: ['In', 'NotIn'],
    PodReplacementPolicy: ['Failed', 'TerminatingOrFailed'],
  },
  enumFields: {
    'CronJobSpec.concurrencyPolicy': 'ConcurrencyPolicy',
    'JobSpec.completionMode': 'CompletionMode',
    'JobSpec.podReplacementPolicy': 'PodReplacementPolicy',
    'PodFailurePolicyOnExitCodesRequirement.operator': 'PodFailurePolicyOnExitCodesOperator',
    'PodFailurePolicyRule.action': 'PodFailurePolicyAction',
  },
  spacedSentences: [
    'CronJobSpec.startingDeadlineSeconds',
    'CronJobSpec.suspend',
    'JobSpec.completions',
    'JobSpec.manualSelector',
  ],
  resources: {
    cronjobs: { shortNames: ['cj'], categories: ['all'] },
    jobs: { categories: ['all'] },
  },
  fieldNumbers: `
CronJob: metadata spec status
CronJobList: metadata items
CronJobSpec: schedule startingDeadlineSeconds? concurrencyPolicy suspend? jobTemplate
  successfulJobsHistoryLimit? failedJobsHistoryLimit? timeZone?
CronJobStatus: active 4:lastScheduleTime? lastSuccessfulTime?
Job: metadata spec status
JobCondition: type status lastProbeTime lastTransitionTime reason message
JobList: metadata items
JobSpec: parallelism? completions? activeDeadlineSeconds? selector? manualSelector? template backoffLimit?
  ttlSecondsAfterFinished? completionMode? suspend? podFailurePolicy? backoffLimitPerIndex? maxFailedIndexes?
  podReplacementPolicy? managedBy? successPolicy?
JobStatus: conditions startTime? completionTime? active succeeded failed completedIndexes
  uncountedTerminatedPods? ready? failedIndexes? terminating?
JobTemplateSpec: metadata spec
PodFailurePolicy: rules
PodFailurePolicyOnExitCodesRequirement: containerName? operator values
PodFailurePolicyOnPodConditionsPattern: type status!
PodFailurePolicyRule: action onExitCodes? onPodConditions
SuccessPolicy: rules
SuccessPolicyRule: succeededIndexes? succeededCount?
UncountedTerminatedPods: succeeded failed
`,
}
