/**
 * Requires permission to `approve` for the signer when a CertificateSigningRequest is approved.
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#certificateapproval
 */
import type { CertificateSigningRequest } from '#/api/generated/certificates/v1.ts'
import { matchesResource, admissionForbidden, type AdmissionPlugin } from '../admission-chain.ts'
import { isAuthorizedForSigner } from './certificate-signers.ts'
import type { PluginContext } from '../plugin-context.ts'

export function certificateApproval({ authorizer }: PluginContext): AdmissionPlugin {
  return {
    name: 'CertificateApproval',
    handles: target =>
      target.operation === 'UPDATE' &&
      matchesResource(target, 'certificatesigningrequests.certificates.k8s.io', ['approval']),
    async validate(request) {
      const signerName = (request.oldObject as CertificateSigningRequest).spec?.signerName ?? ''
      if (await isAuthorizedForSigner(authorizer, { user: request.user, verb: 'approve', signerName })) return
      throw admissionForbidden(
        request,
        `user not permitted to approve requests with signerName "${signerName}"`,
      )
    },
  }
}
