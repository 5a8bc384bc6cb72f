/** What has become of a request for a certificate. */
import { conditionOf } from '#/api/conditions.ts'
import type { CertificateSigningRequest } from '#/api/generated/certificates/v1.ts'

/** Approved and denied conditions always hold. */
export function isDecided({ status }: CertificateSigningRequest): boolean {
  return ['Approved', 'Denied'].some(type => conditionOf(status?.conditions, type) !== undefined)
}

/** Whether it is approved, and nobody has denied it. */
export function isApproved({ status }: CertificateSigningRequest): boolean {
  const has = (type: string): boolean => conditionOf(status?.conditions, type) !== undefined
  return has('Approved') && !has('Denied')
}

export function hasFailed({ status }: CertificateSigningRequest): boolean {
  return conditionOf(status?.conditions, 'Failed') !== undefined
}

export function isIssued({ status }: CertificateSigningRequest): boolean {
  return (status?.certificate ?? '') !== ''
}
