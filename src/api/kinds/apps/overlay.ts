import { merged, retaining, type Overlay } from '../overlay.ts'

export const apps: Overlay = {
  types: { 'ControllerRevision.data': 'runtime.RawExtension' },
  merging: {
    'DaemonSetStatus.conditions': merged('type'),
    'DeploymentSpec.strategy': retaining,
    'DeploymentStatus.conditions': merged('type'),
    'ReplicaSetStatus.conditions': merged('type'),
    'StatefulSetStatus.conditions': merged('type'),
  },
  resources: {
    daemonsets: { shortNames: ['ds'], categories: ['all'] },
    deployments: { shortNames: ['deploy'], categories: ['all'] },
    replicasets: { shortNames: ['rs'], categories: ['all'] },
    statefulsets: { shortNames: ['sts'], categories: ['all'] },
  },
}
