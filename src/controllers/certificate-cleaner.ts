/**
 * Deletes stale CertificateSigningRequests: one hour after they were denied, failed or issued, and after 24
 * hours if they are still pending or approved but not issued.
 * https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/#request-signing-process
 */
import { isApiError } from '#/api/errors.ts'
import { certificateSigningRequests } from '#/api/generated/certificates/v1-resources.ts'
import { requestExpiresAtMs } from './certificates/expiry.ts'
import type { Controller, ControllerContext, Reconcile } from './controller.ts'

export const certificateCleanerController: Controller = {
  name: 'certificatesigningrequest-cleaner-controller',
  account: 'certificate-controller',
  setUp,
}

function setUp({ platform, informer, enqueue }: ControllerContext): Reconcile {
  const requests = informer(certificateSigningRequests)
  requests.addEventHandler((key, { newObject }) => {
    if (newObject !== undefined) enqueue(key)
  })

  return async ({ key: name, client, signal }) => {
    const request = requests.get(name)
    if (request === undefined) return undefined
    const requeueAfterMs = requestExpiresAtMs(request) - platform.clock.now()
    if (requeueAfterMs === Infinity) return undefined
    if (requeueAfterMs > 0) return { requeueAfterMs }
    const { uid = '', resourceVersion = '' } = request.metadata ?? {}
    try {
      const preconditions = { uid, resourceVersion }
      await client.delete(certificateSigningRequests, { name }, { preconditions, signal })
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error
    }
    return undefined
  }
}
