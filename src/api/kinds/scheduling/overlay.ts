import { keyed, merged, mergedRetaining, type Overlay } from '../overlay.ts'

export const scheduling: Overlay = {
  types: { 'PodGroupSchedulingPolicy.basic': 'scheduling.v1alpha2.BasicSchedulingPolicy' },
  definitions: { 'scheduling.v1alpha2.BasicSchedulingPolicy': 'struct' },
  merging: {
    'PodGroupSpec.resourceClaims': mergedRetaining('name'),
    'PodGroupStatus.conditions': merged('type'),
    'PodGroupStatus.resourceClaimStatuses': mergedRetaining('name'),
    'PodGroupTemplate.resourceClaims': mergedRetaining('name'),
    'WorkloadSpec.podGroupTemplates': keyed('name'),
  },
  unions: {
    PodGroupSchedulingPolicy: { fields: { basic: 'Basic', gang: 'Gang' } },
    PodGroupTemplateReference: { fields: { workload: 'Workload' } },
  },
  resources: { priorityclasses: { shortNames: ['pc'] } },
}
