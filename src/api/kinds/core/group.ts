/** Rules and table columns of the core group. */
import type { GroupColumns } from '../../table-columns.ts'
import { createdColumns } from '../created-columns.ts'
import {
  componentStatusColumns,
  configMapColumns,
  namespaceColumns,
  resourceQuotaColumns,
  secretColumns,
  serviceAccountColumns,
} from './columns/data.ts'
import { eventColumns } from './event-columns.ts'
import { nodeColumns } from './columns/node.ts'
import { podColumns } from './columns/pod.ts'
import { endpointsColumns, serviceColumns } from './columns/service.ts'
import { persistentVolumeClaimColumns, persistentVolumeColumns } from './columns/volumes.ts'
import { podTemplateColumns, replicationControllerColumns } from './columns/workloads.ts'
import type { GroupRules } from '../../kind-rules.ts'
import { bindingRules } from './binding.ts'
import { configMapRules } from './config-map.ts'
import { endpointsRules } from './endpoints.ts'
import { eventRules } from './event.ts'
import { limitRangeRules } from './limit-range.ts'
import { namespaceRules } from './namespace.ts'
import { nodeRules } from './node.ts'
import { persistentVolumeRules } from './persistent-volume.ts'
import { persistentVolumeClaimRules } from './persistent-volume-claim.ts'
import { podRules } from '../pod/pod-rules.ts'
import { podTemplateRules } from '../pod/pod-template-rules.ts'
import { replicationControllerRules } from './replication-controller-rules.ts'
import { resourceQuotaRules } from './resource-quota.ts'
import { secretRules } from './secret.ts'
import { serviceRules } from './service.ts'
import { serviceAccountRules } from './service-account.ts'

export const coreRules: GroupRules = {
  Binding: bindingRules,
  // Computed on read, never stored.
  ComponentStatus: { deprecation: 'is deprecated in v1.19+' },
  ConfigMap: configMapRules,
  Endpoints: endpointsRules,
  Event: eventRules,
  LimitRange: limitRangeRules,
  Namespace: namespaceRules,
  Node: nodeRules,
  PersistentVolume: persistentVolumeRules,
  PersistentVolumeClaim: persistentVolumeClaimRules,
  Pod: podRules,
  PodTemplate: podTemplateRules,
  ReplicationController: replicationControllerRules,
  ResourceQuota: resourceQuotaRules,
  Secret: secretRules,
  Service: serviceRules,
  ServiceAccount: serviceAccountRules,
}

export const coreColumns: GroupColumns = {
  ComponentStatus: componentStatusColumns,
  ConfigMap: configMapColumns,
  Endpoints: endpointsColumns,
  Event: eventColumns,
  LimitRange: createdColumns,
  Namespace: namespaceColumns,
  Node: nodeColumns,
  PersistentVolume: persistentVolumeColumns,
  PersistentVolumeClaim: persistentVolumeClaimColumns,
  Pod: podColumns,
  PodTemplate: podTemplateColumns,
  ReplicationController: replicationControllerColumns,
  ResourceQuota: resourceQuotaColumns,
  Secret: secretColumns,
  Service: serviceColumns,
  ServiceAccount: serviceAccountColumns,
}
