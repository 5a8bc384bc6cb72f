/** Facts of the group that the generated definitions lack; only the generator reads them. */
import { merged, replaced, type Overlay } from '../overlay.ts'

export const policyOverlay: Overlay = {
  merging: {
    'PodDisruptionBudgetSpec.selector': replaced,
    'PodDisruptionBudgetStatus.conditions': merged('type'),
  },
  enums: {
    UnhealthyPodEvictionPolicyType: ['AlwaysAllow', 'IfHealthyBudget'],
  },
  enumFields: {
    'PodDisruptionBudgetSpec.unhealthyPodEvictionPolicy': 'UnhealthyPodEvictionPolicyType',
  },
  spacedSentences: [
    'Eviction',
    'PodDisruptionBudgetSpec.maxUnavailable',
    'PodDisruptionBudgetSpec.minAvailable',
  ],
  resources: { poddisruptionbudgets: { shortNames: ['pdb'] } },
  fieldNumbers: `
Eviction: metadata deleteOptions?
PodDisruptionBudget: metadata spec status
PodDisruptionBudgetList: metadata items
PodDisruptionBudgetSpec: minAvailable? selector? maxUnavailable? unhealthyPodEvictionPolicy?
PodDisruptionBudgetStatus: observedGeneration disruptedPods disruptionsAllowed! currentHealthy!
  desiredHealthy! expectedPods! conditions
`,
}
