/**
 * Table columns of the built-in kinds. All versions of a kind share one table; objects are passed in the
 * storage version.
 */
import type { GroupColumns, KindColumns } from '../table-columns.ts'
import { admissionregistrationColumns } from './admissionregistration/group.ts'
import { apiextensionsColumns } from './apiextensions/group.ts'
import { apiregistrationColumns } from './apiregistration/group.ts'
import { apiserverinternalColumns } from './apiserverinternal/group.ts'
import { appsColumns } from './apps/group.ts'
import { autoscalingColumns } from './autoscaling/group.ts'
import { batchColumns } from './batch/group.ts'
import { certificatesColumns } from './certificates/group.ts'
import { coordinationColumns } from './coordination/group.ts'
import { coreColumns } from './core/group.ts'
import { discoveryColumns } from './discovery/group.ts'
import { eventsColumns } from './events/group.ts'
import { flowcontrolColumns } from './flowcontrol/group.ts'
import { networkingColumns } from './networking/group.ts'
import { nodeGroupColumns } from './node/group.ts'
import { policyColumns } from './policy/group.ts'
import { rbacColumns } from './rbac/group.ts'
import { resourceColumns } from './resource/group.ts'
import { schedulingColumns } from './scheduling/group.ts'
import { storageColumns } from './storage/group.ts'
import { storagemigrationColumns } from './storagemigration/group.ts'

/** Undefined for kinds that cannot be listed. */
export function kindColumnsOf(group: string, kind: string): KindColumns<never> | undefined {
  const columns = columnsOfGroups.get(group) ?? {}
  return Object.hasOwn(columns, kind) ? columns[kind] : undefined
}

const columnsOfGroups: ReadonlyMap<string, GroupColumns> = new Map([
  ['', coreColumns],
  ['admissionregistration.k8s.io', admissionregistrationColumns],
  ['apiextensions.k8s.io', apiextensionsColumns],
  ['apiregistration.k8s.io', apiregistrationColumns],
  ['apps', appsColumns],
  ['autoscaling', autoscalingColumns],
  ['batch', batchColumns],
  ['certificates.k8s.io', certificatesColumns],
  ['coordination.k8s.io', coordinationColumns],
  ['discovery.k8s.io', discoveryColumns],
  ['events.k8s.io', eventsColumns],
  ['flowcontrol.apiserver.k8s.io', flowcontrolColumns],
  ['internal.apiserver.k8s.io', apiserverinternalColumns],
  ['networking.k8s.io', networkingColumns],
  ['node.k8s.io', nodeGroupColumns],
  ['policy', policyColumns],
  ['rbac.authorization.k8s.io', rbacColumns],
  ['resource.k8s.io', resourceColumns],
  ['scheduling.k8s.io', schedulingColumns],
  ['storage.k8s.io', storageColumns],
  ['storagemigration.k8s.io', storagemigrationColumns],
])
