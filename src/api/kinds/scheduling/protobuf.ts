/** Protobuf field numbers, in the notation of `src/api/protobuf/field-numbers.ts`. */
export const scheduling = `
BasicSchedulingPolicy:
GangSchedulingPolicy: minCount
PodGroup: metadata spec status
PodGroupList: metadata items
PodGroupResourceClaim: name resourceClaimName? resourceClaimTemplateName?
PodGroupResourceClaimStatus: name resourceClaimName?
PodGroupSchedulingConstraints: topology
PodGroupSchedulingPolicy: basic? gang?
PodGroupSpec: podGroupTemplateRef? schedulingPolicy schedulingConstraints? resourceClaims disruptionMode?
  priorityClassName priority?
PodGroupStatus: conditions resourceClaimStatuses
PodGroupTemplate: name schedulingPolicy schedulingConstraints? resourceClaims disruptionMode?
  priorityClassName priority?
PodGroupTemplateReference: workload?
PriorityClass: metadata value! globalDefault description preemptionPolicy?
PriorityClassList: metadata items
TopologyConstraint: key
TypedLocalObjectReference: apiGroup kind name
Workload: metadata spec
WorkloadList: metadata items
WorkloadPodGroupTemplateReference: workloadName podGroupTemplateName
WorkloadSpec: controllerRef? podGroupTemplates
`
