import type { CertificateSigningRequest } from '#/api/generated/certificates/v1.ts'
import type { ResourceHooks } from './hooks.ts'

/**
 * Sets the user fields of a CertificateSigningRequest from the request; approvers and signers rely on them.
 */
export const certificateRequestHooks: ResourceHooks = {
  withAuthor(object, { username, uid, groups, extra }) {
    const { spec, ...rest } = object as CertificateSigningRequest
    const author = { username, ...(uid && { uid }), groups, ...(extra && { extra }) }
    return { ...rest, spec: { ...spec, ...author } } as CertificateSigningRequest
  },
}
