/** Facts of the group that the generated definitions lack; only the generator reads them. */
import { merged, retaining, type Overlay } from '../overlay.ts'

export const appsOverlay: Overlay = {
  types: { 'ControllerRevision.data': 'runtime.RawExtension' },
  merging: {
    'DaemonSetStatus.conditions': merged('type'),
    'DeploymentSpec.strategy': retaining,
    'DeploymentStatus.conditions': merged('type'),
    'ReplicaSetStatus.conditions': merged('type'),
    'StatefulSetStatus.conditions': merged('type'),
  },
  enums: {
    DaemonSetUpdateStrategyType: ['OnDelete', 'RollingUpdate'],
    DeploymentStrategyType: ['Recreate', 'RollingUpdate'],
    PodManagementPolicyType: ['OrderedReady', 'Parallel'],
    StatefulSetUpdateStrategyType: ['OnDelete', 'RollingUpdate'],
  },
  enumFields: {
    'DaemonSetUpdateStrategy.type': 'DaemonSetUpdateStrategyType',
    'DeploymentStrategy.type': 'DeploymentStrategyType',
    'StatefulSetSpec.podManagementPolicy': 'PodManagementPolicyType',
    'StatefulSetUpdateStrategy.type': 'StatefulSetUpdateStrategyType',
  },
  spacedSentences: [
    'RollingUpdateDaemonSet.maxSurge',
    'RollingUpdateDaemonSet.maxUnavailable',
    'RollingUpdateDeployment.maxSurge',
    'RollingUpdateDeployment.maxUnavailable',
    'RollingUpdateStatefulSetStrategy.maxUnavailable',
  ],
  resources: {
    daemonsets: { shortNames: ['ds'], categories: ['all'] },
    deployments: { shortNames: ['deploy'], categories: ['all'] },
    replicasets: { shortNames: ['rs'], categories: ['all'] },
    statefulsets: { shortNames: ['sts'], categories: ['all'] },
  },
  fieldNumbers: `
ControllerRevision: metadata data revision
ControllerRevisionList: metadata items
DaemonSet: metadata spec status
DaemonSetCondition: type status lastTransitionTime reason message
DaemonSetList: metadata items
DaemonSetSpec: selector? template updateStrategy minReadySeconds 6:revisionHistoryLimit?
DaemonSetStatus: currentNumberScheduled numberMisscheduled desiredNumberScheduled numberReady
  observedGeneration updatedNumberScheduled numberAvailable numberUnavailable collisionCount? conditions
DaemonSetUpdateStrategy: type rollingUpdate?
Deployment: metadata spec status
DeploymentCondition: type status 4:reason message lastUpdateTime lastTransitionTime
DeploymentList: metadata items
DeploymentSpec: replicas? selector? template strategy minReadySeconds revisionHistoryLimit? paused
  9:progressDeadlineSeconds?
DeploymentStatus: observedGeneration replicas updatedReplicas availableReplicas unavailableReplicas conditions
  readyReplicas collisionCount? terminatingReplicas?
DeploymentStrategy: type rollingUpdate?
ReplicaSet: metadata spec status
ReplicaSetCondition: type status lastTransitionTime reason message
ReplicaSetList: metadata items
ReplicaSetSpec: replicas? selector? template minReadySeconds
ReplicaSetStatus: replicas fullyLabeledReplicas observedGeneration readyReplicas availableReplicas conditions
  terminatingReplicas?
RollingUpdateDaemonSet: maxUnavailable? maxSurge?
RollingUpdateDeployment: maxUnavailable? maxSurge?
RollingUpdateStatefulSetStrategy: partition? maxUnavailable?
StatefulSet: metadata spec status
StatefulSetCondition: type status lastTransitionTime reason message
StatefulSetList: metadata items
StatefulSetOrdinals: start!
StatefulSetPersistentVolumeClaimRetentionPolicy: whenDeleted whenScaled
StatefulSetSpec: replicas? selector? template volumeClaimTemplates serviceName! podManagementPolicy
  updateStrategy revisionHistoryLimit? minReadySeconds persistentVolumeClaimRetentionPolicy? ordinals?
StatefulSetStatus: observedGeneration replicas readyReplicas currentReplicas updatedReplicas currentRevision
  updateRevision 9:collisionCount? conditions availableReplicas!
StatefulSetUpdateStrategy: type rollingUpdate?
`,
}
