import type { CertificateSigningRequest } from '#/api/generated/certificates/v1.ts'
import type { ResourceHooks } from './hooks.ts'

/** A request for a certificate says who made it: whoever approves and signs it decides by that. */
export const certificateRequestHooks: ResourceHooks = {
  withAuthor(object, { username, uid, groups, extra }) {
    const { spec, ...rest } = object as CertificateSigningRequest
    const author = { username, ...(uid && { uid }), groups, ...(extra && { extra }) }
    return { ...rest, spec: { ...spec, ...author } } as CertificateSigningRequest
  },
}
