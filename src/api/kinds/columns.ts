/**
 * Table columns of the built-in kinds. All versions of a kind share one table; objects are passed in the
 * storage version.
 */
import type { GroupColumns, KindColumns } from '../table-columns.ts'
import { admissionregistrationColumns } from './admissionregistration/columns.ts'
import { apiregistrationColumns } from './apiregistration/columns.ts'
import { apiserverinternalColumns } from './apiserverinternal/columns.ts'
import { appsColumns } from './apps/columns.ts'
import { autoscalingColumns } from './autoscaling/columns.ts'
import { batchColumns } from './batch/columns.ts'
import { certificatesColumns } from './certificates/columns.ts'
import { coordinationColumns } from './coordination/columns.ts'
import { coreColumns } from './core/columns.ts'
import { eventColumns } from './core/event-columns.ts'
import { createdColumns } from './created-columns.ts'
import { discoveryColumns } from './discovery/columns.ts'
import { flowcontrolColumns } from './flowcontrol/columns.ts'
import { networkingColumns } from './networking/columns.ts'
import { nodeColumns } from './node/columns.ts'
import { policyColumns } from './policy/columns.ts'
import { rbacColumns } from './rbac/columns.ts'
import { resourceColumns } from './resource/columns.ts'
import { schedulingColumns } from './scheduling/columns.ts'
import { storageColumns } from './storage/columns.ts'
import { storagemigrationColumns } from './storagemigration/columns.ts'

/** Undefined for kinds that cannot be listed. */
export function kindColumnsOf(group: string, kind: string): KindColumns<never> | undefined {
  const columns = columnsOfGroups.get(group) ?? {}
  return Object.hasOwn(columns, kind) ? columns[kind] : undefined
}

const columnsOfGroups: ReadonlyMap<string, GroupColumns> = new Map([
  ['', coreColumns],
  ['admissionregistration.k8s.io', admissionregistrationColumns],
  ['apiextensions.k8s.io', { CustomResourceDefinition: createdColumns }],
  ['apiregistration.k8s.io', apiregistrationColumns],
  ['apps', appsColumns],
  ['autoscaling', autoscalingColumns],
  ['batch', batchColumns],
  ['certificates.k8s.io', certificatesColumns],
  ['coordination.k8s.io', coordinationColumns],
  ['discovery.k8s.io', discoveryColumns],
  ['events.k8s.io', { Event: eventColumns }],
  ['flowcontrol.apiserver.k8s.io', flowcontrolColumns],
  ['internal.apiserver.k8s.io', apiserverinternalColumns],
  ['networking.k8s.io', networkingColumns],
  ['node.k8s.io', nodeColumns],
  ['policy', policyColumns],
  ['rbac.authorization.k8s.io', rbacColumns],
  ['resource.k8s.io', resourceColumns],
  ['scheduling.k8s.io', schedulingColumns],
  ['storage.k8s.io', storageColumns],
  ['storagemigration.k8s.io', storagemigrationColumns],
])
