/** Conditions of a CertificateSigningRequest. */
import { conditionOf } from '#/api/conditions.ts'
import type { CertificateSigningRequest } from '#/api/generated/certificates/v1.ts'

/** The status of Approved and Denied conditions is always True, so their presence suffices. */
export function isApprovedOrDenied({ status }: CertificateSigningRequest): boolean {
  return ['Approved', 'Denied'].some(type => conditionOf(status?.conditions, type) !== undefined)
}

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
