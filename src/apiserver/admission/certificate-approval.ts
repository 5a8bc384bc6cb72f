/**
 * Requires permission to `approve` for the signer when a CertificateSigningRequest is approved.
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#certificateapproval
 */
import type { CertificateSigningRequest } from '#/api/generated/certificates/v1.ts'
import { isAbout, refused, type AdmissionPlugin } from './admission.ts'
import { mayUseSigner } from './certificate-signers.ts'
import type { PluginContext } from './plugin-context.ts'

export function certificateApproval({ authorizer }: PluginContext): AdmissionPlugin {
  return {
    name: 'CertificateApproval',
    handles: target =>
      target.operation === 'UPDATE' &&
      isAbout(target, 'certificatesigningrequests.certificates.k8s.io', ['approval']),
    async validate(request) {
      const signerName = (request.before as CertificateSigningRequest).spec?.signerName ?? ''
      if (await mayUseSigner(authorizer, { user: request.user, verb: 'approve', signerName })) return
      throw refused(request, `user not permitted to approve requests with signerName "${signerName}"`)
    },
  }
}
