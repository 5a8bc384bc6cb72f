import type { CertificateSigningRequest } from '#/api/generated/certificates/v1.ts'
import { X509Certificate } from 'node:crypto'
import { noReservation, type ResourceHooks } from './hooks.ts'
import type { Registry } from './registry.ts'

/**
 * Sets the user fields of a CertificateSigningRequest from the request; approvers and signers rely on them.
 */
export const certificateRequestHooks: ResourceHooks = {
  withAuthor(object, { username, uid, groups, extra }) {
    const { spec, ...rest } = object as CertificateSigningRequest
    const author = { username, ...(uid && { uid }), groups, ...(extra && { extra }) }
    return { ...rest, spec: { ...spec, ...author } } as CertificateSigningRequest
  },
  async reserve(registry, { object, oldObject, dryRun }) {
    const nothing = noReservation(object)
    const old = oldObject as CertificateSigningRequest | undefined
    const issued = (object as CertificateSigningRequest).status?.certificate
    if (dryRun || old === undefined || old.status?.certificate || !issued) return nothing
    return { ...nothing, commit: async () => recordDuration(registry, old, issued) }
  },
}

/** Counts the requests with expirationSeconds, and those whose certificate has about this duration. */
function recordDuration({ metrics }: Registry, { spec }: CertificateSigningRequest, issued: string): void {
  const wantedSeconds = spec?.expirationSeconds
  if (metrics === undefined || spec === undefined || wantedSeconds === undefined) return
  const signer = spec.signerName.startsWith('kubernetes.io/') ? spec.signerName : 'other'
  metrics.server.recordCertificateRequest(signer, 'requested')
  const actualSeconds = durationSeconds(Buffer.from(issued, 'base64'))
  if (actualSeconds === undefined) return
  if (Math.abs(wantedSeconds - actualSeconds) < backdatedSeconds + wantedSeconds / 20)
    metrics.server.recordCertificateRequest(signer, 'honored')
}

/** Certificates are valid from a few minutes before they are issued, because clocks differ. */
const backdatedSeconds = 300

/** Undefined if the certificate cannot be parsed. */
function durationSeconds(pem: Uint8Array): number | undefined {
  try {
    const { validFromDate, validToDate } = new X509Certificate(pem)
    return (validToDate.getTime() - validFromDate.getTime()) / 1_000
  } catch {
    return undefined
  }
}
