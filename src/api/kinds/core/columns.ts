/** Table columns for the core group. */
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
