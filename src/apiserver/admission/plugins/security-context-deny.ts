/**
 * Rejects pods that set certain securityContext fields. Kubernetes removed this plugin in 1.30 in favor of
 * PodSecurity.
 * https://v1-27.docs.kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#securitycontextdeny
 */
import type { Pod } from '#/api/generated/core/v1.ts'
import { admissionForbidden, type AdmissionPlugin } from '../admission-chain.ts'
import { podWrites, specOf } from './pod-spec.ts'

export function securityContextDeny(): AdmissionPlugin {
  return {
    name: 'SecurityContextDeny',
    handles: podWrites(['CREATE', 'UPDATE']),
    validate(request) {
      const forbidden = forbiddenField(request.object as Pod)
      if (forbidden !== undefined) throw admissionForbidden(request, `${forbidden} is forbidden`)
    },
  }
}

const podFields = [
  ['supplementalGroups', 'SupplementalGroups'],
  ['seLinuxOptions', 'SELinuxOptions'],
  ['runAsUser', 'RunAsUser'],
  ['fsGroup', 'FSGroup'],
] as const

const containerFields = [
  ['seLinuxOptions', 'SELinuxOptions'],
  ['runAsUser', 'RunAsUser'],
] as const

function forbiddenField(pod: Pod): string | undefined {
  const { securityContext = {}, initContainers = [], containers } = specOf(pod)
  for (const [field, name] of podFields) {
    if (securityContext[field] !== undefined) return `pod.Spec.SecurityContext.${name}`
  }
  for (const container of [...initContainers, ...containers]) {
    for (const [field, name] of containerFields) {
      if (container.securityContext?.[field] !== undefined) return `SecurityContext.${name}`
    }
  }
  return undefined
}
