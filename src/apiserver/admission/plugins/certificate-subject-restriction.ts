/**
 * Rejects CertificateSigningRequests for the kube-apiserver-client signer that request the group
 * system:masters.
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#certificatesubjectrestriction
 */
import type { CertificateSigningRequest } from '#/api/generated/certificates/v1.ts'
import { matchesResource, admissionForbidden, type AdmissionPlugin } from '../admission-chain.ts'
import { certificateRequestSubject } from './certificate-request-subject.ts'

export function certificateSubjectRestriction(): AdmissionPlugin {
  return {
    name: 'CertificateSubjectRestriction',
    handles: target =>
      target.operation === 'CREATE' &&
      matchesResource(target, 'certificatesigningrequests.certificates.k8s.io'),
    async validate(request) {
      const { spec } = request.object as CertificateSigningRequest
      if (spec?.signerName !== clientSigner) return
      const subject = await certificateRequestSubject(spec.request).catch((error: Error) => {
        throw admissionForbidden(request, `failed to parse CSR: ${error.message}`)
      })
      if (!subject.organizations.includes('system:masters')) return
      throw admissionForbidden(
        request,
        `use of ${clientSigner} signer with system:masters group is not allowed`,
      )
    },
  }
}

const clientSigner = 'kubernetes.io/kube-apiserver-client'
