import { mergedAtomic, set, type Overlay } from '../overlay.ts'

export const batch: Overlay = {
  merging: {
    'JobStatus.conditions': mergedAtomic('type'),
    'PodFailurePolicyOnExitCodesRequirement.values': set,
    'UncountedTerminatedPods.failed': set,
    'UncountedTerminatedPods.succeeded': set,
  },
  resources: {
    cronjobs: { shortNames: ['cj'], categories: ['all'] },
    jobs: { categories: ['all'] },
  },
}
