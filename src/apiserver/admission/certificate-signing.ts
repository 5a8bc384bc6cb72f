/**
 * Requires permission to `sign` for the signer when the certificate or conditions in a
 * CertificateSigningRequest's status change.
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#certificatesigning
 */
import type { CertificateSigningRequest } from '#/api/generated/certificates/v1.ts'
import { equalJson } from '#/api/json-value.ts'
import { isAbout, refused, type AdmissionPlugin } from './admission.ts'
import { mayUseSigner } from './certificate-signers.ts'
import type { PluginContext } from './plugin-context.ts'

export function certificateSigning({ authorizer }: PluginContext): AdmissionPlugin {
  return {
    name: 'CertificateSigning',
    handles: target =>
      target.operation === 'UPDATE' &&
      isAbout(target, 'certificatesigningrequests.certificates.k8s.io', ['status']),
    async validate(request) {
      const { status } = request.object as CertificateSigningRequest
      const before = request.before as CertificateSigningRequest
      const isSame =
        status?.certificate === before.status?.certificate &&
        equalJson(status?.conditions ?? [], before.status?.conditions ?? [])
      if (isSame) return
      const signerName = before.spec?.signerName ?? ''
      if (await mayUseSigner(authorizer, { user: request.user, verb: 'sign', signerName })) return
      throw refused(request, `user not permitted to sign requests with signerName "${signerName}"`)
    },
  }
}
