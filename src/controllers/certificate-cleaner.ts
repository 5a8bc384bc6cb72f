/**
 * Deletes stale CertificateSigningRequests: one hour after they were denied, failed or issued, and after 24
 * hours if they are still pending or approved but not issued.
 * https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/#request-signing-process
 */
import { X509Certificate } from 'node:crypto'
import { isApiError } from '#/api/errors.ts'
import { certificateSigningRequests } from '#/api/generated/certificates/v1-resources.ts'
import type { CertificateSigningRequest } from '#/api/generated/certificates/v1.ts'
import { parseTime } from '#/api/text/time.ts'
import type { Controller, ControllerContext, Reconcile } from './controller.ts'
import { isIssued } from './certificates/csr-conditions.ts'

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
    const { uid, resourceVersion } = request.metadata
    try {
      const preconditions = { uid, resourceVersion }
      await client.delete(certificateSigningRequests, { name }, { preconditions, signal })
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error
    }
    return undefined
  }
}

const hourMs = 3_600_000
const decidedMs = hourMs
const openMs = 24 * hourMs

/** Time at which the request may be deleted; Infinity if it is kept. */
export function requestExpiresAtMs(request: CertificateSigningRequest): number {
  const { metadata, status } = request
  const conditions = status?.conditions ?? []
  if (conditions.length === 0) return afterTime(metadata.creationTimestamp, openMs)
  const times = conditions.flatMap(({ type, lastUpdateTime }) => {
    if (type === 'Denied' || type === 'Failed') return [afterTime(lastUpdateTime, decidedMs)]
    if (type !== 'Approved') return []
    if (!isIssued(request)) return [afterTime(lastUpdateTime, openMs)]
    return [afterTime(lastUpdateTime, decidedMs), certificateEndsMs(status?.certificate ?? '')]
  })
  return Math.min(Infinity, ...times)
}

function afterTime(text: string | undefined, ms: number): number {
  const timeMs = parseTime(text ?? '')
  return timeMs === undefined ? Infinity : timeMs + ms
}

/** End of validity of the first certificate; Infinity if it cannot be parsed. */
function certificateEndsMs(base64: string): number {
  try {
    return new X509Certificate(Buffer.from(base64, 'base64')).validToDate.getTime()
  } catch {
    return Infinity
  }
}
