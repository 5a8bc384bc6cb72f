/** Overlay and protobuf field numbers of the group. Imports no rules: the generator reads this file. */
import { merged, replaced, type Overlay } from '../overlay.ts'

export const policyOverlay: Overlay = {
  merging: {
    'PodDisruptionBudgetSpec.selector': replaced,
    'PodDisruptionBudgetStatus.conditions': merged('type'),
  },
  resources: { poddisruptionbudgets: { shortNames: ['pdb'] } },
}

/** In the notation of `protobuf/field-numbers.ts`. */
export const policyFieldNumbers = `
Eviction: metadata deleteOptions?
PodDisruptionBudget: metadata spec status
PodDisruptionBudgetList: metadata items
PodDisruptionBudgetSpec: minAvailable? selector? maxUnavailable? unhealthyPodEvictionPolicy?
PodDisruptionBudgetStatus: observedGeneration disruptedPods disruptionsAllowed! currentHealthy!
  desiredHealthy! expectedPods! conditions
`
