/** Facts of the group that the generated definitions lack; only the generator reads them. */
import { keyed, merged, mergedRetaining, type Overlay } from '../overlay.ts'

export const schedulingOverlay: Overlay = {
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
  defaults: { 'PodGroupSpec.disruptionMode': 'Pod' },
  enums: {
    DisruptionMode: ['Pod', 'PodGroup'],
  },
  enumFields: {
    'PodGroupSpec.disruptionMode': 'DisruptionMode',
    'PodGroupTemplate.disruptionMode': 'DisruptionMode',
    'PriorityClass.preemptionPolicy': 'core.PreemptionPolicy',
  },
  resources: { priorityclasses: { shortNames: ['pc'] } },
  fieldNumbers: `
BasicSchedulingPolicy:
GangSchedulingPolicy: minCount
PodGroup: metadata spec status
PodGroupList: metadata items
PodGroupResourceClaim: name resourceClaimName? resourceClaimTemplateName?
PodGroupResourceClaimStatus: name resourceClaimName?
PodGroupSchedulingConstraints: topology
PodGroupSchedulingPolicy: basic? gang?
PodGroupSpec: podGroupTemplateRef?! schedulingPolicy schedulingConstraints? resourceClaims disruptionMode?
  priorityClassName priority?
PodGroupStatus: conditions resourceClaimStatuses
PodGroupTemplate: name schedulingPolicy schedulingConstraints?! resourceClaims disruptionMode?
  priorityClassName priority?
PodGroupTemplateReference: workload?!
PriorityClass: metadata value! globalDefault description preemptionPolicy?
PriorityClassList: metadata items
TopologyConstraint: key
TypedLocalObjectReference: apiGroup kind name
Workload: metadata spec
WorkloadList: metadata items
WorkloadPodGroupTemplateReference: workloadName podGroupTemplateName
WorkloadSpec: controllerRef? podGroupTemplates
`,
}
