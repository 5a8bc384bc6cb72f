/**
 * Rejects new entries in a Service's externalIPs; existing ones may stay.
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#denyserviceexternalips
 */
import type { Service } from '#/api/generated/core/v1.ts'
import { matchesResource, admissionForbidden, type AdmissionPlugin } from '../admission-chain.ts'

export function denyServiceExternalIps(): AdmissionPlugin {
  return {
    name: 'DenyServiceExternalIPs',
    handles: target =>
      (target.operation === 'CREATE' || target.operation === 'UPDATE') && matchesResource(target, 'services'),
    validate(request) {
      const wanted = (request.object as Service).spec?.externalIPs ?? []
      const had = (request.oldObject as Service | undefined)?.spec?.externalIPs ?? []
      if (wanted.every(address => had.includes(address))) return
      throw admissionForbidden(request, 'Use of external IPs is denied by admission control')
    },
  }
}
