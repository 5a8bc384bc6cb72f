/**
 * Rules of the built-in kinds. All versions of a kind share one set of rules, which run in the storage
 * version.
 */
import type { GroupRules, KindRules } from '../kind-rules.ts'
import { groupRules } from './group-rules.ts'
import { admissionregistration } from './admissionregistration/rules.ts'
import { customResourceDefinitionRules } from './apiextensions/custom-resource-definition.ts'
import { apiServiceRules } from './apiregistration/api-service.ts'
import { apps } from './apps/rules.ts'
import { authentication } from './authentication/rules.ts'
import { authorization } from './authorization/rules.ts'
import { autoscaling } from './autoscaling/rules.ts'
import { batch } from './batch/rules.ts'
import { certificateSigningRequestRules } from './certificates/certificate-signing-request.ts'
import { leaseRules } from './coordination/lease.ts'
import { core } from './core/rules.ts'
import { endpointSliceRules } from './discovery/endpoint-slice.ts'
import { eventRules } from './events/event.ts'
import { flowcontrol } from './flowcontrol/rules.ts'
import { networking } from './networking/rules.ts'
import { runtimeClassRules } from './node/runtime-class.ts'
import { podDisruptionBudgetRules } from './policy/pod-disruption-budget.ts'
import { rbac } from './rbac/rules.ts'
import { resource } from './resource/rules.ts'
import { priorityClassRules } from './scheduling/priority-class.ts'
import { storage } from './storage/rules.ts'

/** Undefined for kinds with only the rules common to all objects. */
export function rulesOf(group: string, kind: string): KindRules<never> | undefined {
  const rules = rulesOfGroups.get(group) ?? {}
  return Object.hasOwn(rules, kind) ? rules[kind] : undefined
}

const rulesOfGroups: ReadonlyMap<string, GroupRules> = new Map([
  ['', core],
  ['admissionregistration.k8s.io', admissionregistration],
  ['apiextensions.k8s.io', groupRules({ CustomResourceDefinition: customResourceDefinitionRules })],
  ['apiregistration.k8s.io', groupRules({ APIService: apiServiceRules })],
  ['apps', apps],
  ['authentication.k8s.io', authentication],
  ['authorization.k8s.io', authorization],
  ['autoscaling', autoscaling],
  ['batch', batch],
  ['certificates.k8s.io', groupRules({ CertificateSigningRequest: certificateSigningRequestRules })],
  ['coordination.k8s.io', groupRules({ Lease: leaseRules })],
  ['discovery.k8s.io', groupRules({ EndpointSlice: endpointSliceRules })],
  ['events.k8s.io', groupRules({ Event: eventRules })],
  ['flowcontrol.apiserver.k8s.io', flowcontrol],
  ['networking.k8s.io', networking],
  ['node.k8s.io', groupRules({ RuntimeClass: runtimeClassRules })],
  ['policy', groupRules({ PodDisruptionBudget: podDisruptionBudgetRules })],
  ['rbac.authorization.k8s.io', rbac],
  ['resource.k8s.io', resource],
  ['scheduling.k8s.io', groupRules({ PriorityClass: priorityClassRules })],
  ['storage.k8s.io', storage],
])
