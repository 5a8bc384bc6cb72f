/**
 * Rules of the built-in kinds. All versions of a kind share one set of rules, which run in the storage
 * version.
 */
import type { GroupRules, KindRules } from '../kind-rules.ts'
import { admissionregistrationRules } from './admissionregistration/group.ts'
import { apiextensionsRules } from './apiextensions/group.ts'
import { apiregistrationRules } from './apiregistration/group.ts'
import { appsRules } from './apps/group.ts'
import { authenticationRules } from './authentication/group.ts'
import { authorizationRules } from './authorization/group.ts'
import { autoscalingRules } from './autoscaling/group.ts'
import { batchRules } from './batch/group.ts'
import { certificatesRules } from './certificates/group.ts'
import { coordinationRules } from './coordination/group.ts'
import { coreRules } from './core/group.ts'
import { discoveryRules } from './discovery/group.ts'
import { eventsRules } from './events/group.ts'
import { flowcontrolRules } from './flowcontrol/group.ts'
import { networkingRules } from './networking/group.ts'
import { nodeGroupRules } from './node/group.ts'
import { policyRules } from './policy/group.ts'
import { rbacRules } from './rbac/group.ts'
import { resourceRules } from './resource/group.ts'
import { schedulingRules } from './scheduling/group.ts'
import { storageRules } from './storage/group.ts'
import { storagemigrationRules } from './storagemigration/rules.ts'

/** Undefined for kinds with only the rules common to all objects. */
export function rulesOf(group: string, kind: string): KindRules<never> | undefined {
  const rules = rulesOfGroups.get(group) ?? {}
  return Object.hasOwn(rules, kind) ? rules[kind] : undefined
}

const rulesOfGroups: ReadonlyMap<string, GroupRules> = new Map([
  ['', coreRules],
  ['admissionregistration.k8s.io', admissionregistrationRules],
  ['apiextensions.k8s.io', apiextensionsRules],
  ['apiregistration.k8s.io', apiregistrationRules],
  ['apps', appsRules],
  ['authentication.k8s.io', authenticationRules],
  ['authorization.k8s.io', authorizationRules],
  ['autoscaling', autoscalingRules],
  ['batch', batchRules],
  ['certificates.k8s.io', certificatesRules],
  ['coordination.k8s.io', coordinationRules],
  ['discovery.k8s.io', discoveryRules],
  ['events.k8s.io', eventsRules],
  ['flowcontrol.apiserver.k8s.io', flowcontrolRules],
  ['networking.k8s.io', networkingRules],
  ['node.k8s.io', nodeGroupRules],
  ['policy', policyRules],
  ['rbac.authorization.k8s.io', rbacRules],
  ['resource.k8s.io', resourceRules],
  ['scheduling.k8s.io', schedulingRules],
  ['storage.k8s.io', storageRules],
  ['storagemigration.k8s.io', storagemigrationRules],
])
