/**
 * Requires permission to `sign` for the signer when the certificate or conditions in a
 * CertificateSigningRequest's status change.
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#certificatesigning
 */
import type { CertificateSigningRequest } from '#/api/generated/certificates/v1.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { matchesResource, admissionForbidden, type AdmissionPlugin } from '../admission-chain.ts'
import { isAuthorizedForSigner } from './certificate-signers.ts'
import type { PluginContext } from '../plugin-context.ts'

export function certificateSigning({ authorizer }: PluginContext): AdmissionPlugin {
  return {
    name: 'CertificateSigning',
    handles: target =>
      target.operation === 'UPDATE' &&
      matchesResource(target, 'certificatesigningrequests.certificates.k8s.io', ['status']),
    async validate(request) {
      const { status } = request.object as CertificateSigningRequest
      const oldObject = request.oldObject as CertificateSigningRequest
      const isSame =
        status?.certificate === oldObject.status?.certificate &&
        equalJson(status?.conditions ?? [], oldObject.status?.conditions ?? [])
      if (isSame) return
      const signerName = oldObject.spec?.signerName ?? ''
      if (await isAuthorizedForSigner(authorizer, { user: request.user, verb: 'sign', signerName })) return
      throw admissionForbidden(request, `user not permitted to sign requests with signerName "${signerName}"`)
    },
  }
}
