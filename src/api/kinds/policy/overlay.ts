import { merged, replaced, type Overlay } from '../overlay.ts'

export const policy: Overlay = {
  merging: {
    'PodDisruptionBudgetSpec.selector': replaced,
    'PodDisruptionBudgetStatus.conditions': merged('type'),
  },
  resources: { poddisruptionbudgets: { shortNames: ['pdb'] } },
}
