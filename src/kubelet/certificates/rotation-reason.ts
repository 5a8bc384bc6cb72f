/** Decides if a kubelet needs another certificate, and when. */
import { X509Certificate } from 'node:crypto'
import { parseIp } from '#/api/net/ip.ts'
import type { CertificateTemplate } from './request-certificate.ts'

/** Undefined while the certificate can be used and its rotation deadline has not passed. */
export function rotationReason(
  cert: string | undefined,
  { subject, names }: Pick<CertificateTemplate, 'subject' | 'names'>,
  { nowMs, fraction }: { readonly nowMs: number; readonly fraction: number },
): string | undefined {
  const problem = validityProblem(cert, subject, nowMs)
  if (cert === undefined || problem !== undefined) return problem
  const parsed = new X509Certificate(cert)
  if (rotationDeadlineMs(parsed, fraction) <= nowMs) return 'its rotation deadline has passed'
  const missing = names.find(name => !isFor(parsed, name))
  return missing === undefined ? undefined : `it is not for ${missing}`
}

/** Undefined if the certificate identifies the subject. */
export function validityProblem(
  cert: string | undefined,
  subject: CertificateTemplate['subject'],
  nowMs: number,
): string | undefined {
  if (cert === undefined) return 'no certificate exists'
  const parsed = new X509Certificate(cert)
  if (!hasSubject(parsed, subject)) return 'its subject differs'
  return parsed.validToDate.getTime() <= nowMs ? 'it has expired' : undefined
}

/**
 * Between 70 and 90 % of the lifetime. The fraction is random in [0, 1), so that nodes that were added together do not
 * all rotate at once.
 */
function rotationDeadlineMs({ validFromDate, validToDate }: X509Certificate, fraction: number): number {
  const lifetimeMs = validToDate.getTime() - validFromDate.getTime()
  return validFromDate.getTime() + lifetimeMs * (0.7 + 0.2 * fraction)
}

function hasSubject(
  { subject }: X509Certificate,
  { commonName, organizations }: CertificateTemplate['subject'],
): boolean {
  const expected = [...organizations.map(organization => `O=${organization}`), `CN=${commonName}`]
  return (subject ?? '').split('\n').sort().join('\n') === expected.sort().join('\n')
}

function isFor(certificate: X509Certificate, name: string): boolean {
  return (parseIp(name) === undefined ? certificate.checkHost(name) : certificate.checkIP(name)) !== undefined
}
