/**
 * Rules of the built-in kinds. All versions of a kind share one set of rules, which run in the storage
 * version.
 */
import type { GroupRules, KindRules } from '../kind-rules.ts'
import { admissionregistration } from './admissionregistration/rules.ts'
import { apiextensions } from './apiextensions/rules.ts'
import { apiregistration } from './apiregistration/rules.ts'
import { apps } from './apps/rules.ts'
import { authentication } from './authentication/rules.ts'
import { authorization } from './authorization/rules.ts'
import { autoscaling } from './autoscaling/rules.ts'
import { batch } from './batch/rules.ts'
import { certificates } from './certificates/rules.ts'
import { coordination } from './coordination/rules.ts'
import { core } from './core/rules.ts'
import { discovery } from './discovery/rules.ts'
import { events } from './events/rules.ts'
import { flowcontrol } from './flowcontrol/rules.ts'
import { networking } from './networking/rules.ts'
import { node } from './node/rules.ts'
import { policy } from './policy/rules.ts'
import { rbac } from './rbac/rules.ts'
import { resource } from './resource/rules.ts'
import { scheduling } from './scheduling/rules.ts'
import { storage } from './storage/rules.ts'

/** Undefined for kinds with only the rules common to all objects. */
export function rulesOf(group: string, kind: string): KindRules<never> | undefined {
  const rules = rulesOfGroups.get(group) ?? {}
  return Object.hasOwn(rules, kind) ? rules[kind] : undefined
}

const rulesOfGroups: ReadonlyMap<string, GroupRules> = new Map([
  ['', core],
  ['admissionregistration.k8s.io', admissionregistration],
  ['apiextensions.k8s.io', apiextensions],
  ['apiregistration.k8s.io', apiregistration],
  ['apps', apps],
  ['authentication.k8s.io', authentication],
  ['authorization.k8s.io', authorization],
  ['autoscaling', autoscaling],
  ['batch', batch],
  ['certificates.k8s.io', certificates],
  ['coordination.k8s.io', coordination],
  ['discovery.k8s.io', discovery],
  ['events.k8s.io', events],
  ['flowcontrol.apiserver.k8s.io', flowcontrol],
  ['networking.k8s.io', networking],
  ['node.k8s.io', node],
  ['policy', policy],
  ['rbac.authorization.k8s.io', rbac],
  ['resource.k8s.io', resource],
  ['scheduling.k8s.io', scheduling],
  ['storage.k8s.io', storage],
])
