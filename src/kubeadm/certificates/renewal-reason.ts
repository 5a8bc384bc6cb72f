/** Checks if existing certificates are still valid, and returns the reason if not. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { parseIp } from '#/api/net/ip.ts'
import type { CertificateProfile } from './profile.ts'

export interface RenewalCheck {
  /** PEM encoded. */
  readonly existing: { readonly cert: string; readonly key: string } | undefined
  readonly profile: CertificateProfile
  /** PEM encoded. */
  readonly caCert: string
  readonly nowMs: number
}

/** Undefined when the certificate need not be renewed. */
export function renewalReason({ existing, profile, caCert, nowMs }: RenewalCheck): string | undefined {
  if (existing === undefined) return 'no certificate exists'
  const parsed = parse(existing.cert)
  if (parsed === undefined) return 'it cannot be read'
  if (!isKeyOf(parsed, existing.key)) return 'its key does not match'
  if (!isSignedBy(parsed, caCert)) return 'it is signed by another CA'
  if (parsed.validFromDate.getTime() > nowMs) return 'it is not valid yet'
  if (parsed.validToDate.getTime() - nowMs < renewBeforeMs) return 'it expires soon'
  if (!hasSubject(parsed, profile)) return 'its subject differs'
  const missing = profile.names.find(name => !isFor(parsed, name))
  return missing === undefined ? undefined : `it is not for ${missing}`
}

/** The reason why the pair cannot be the cluster's CA; undefined when it can. */
export function caProblem({
  cert,
  key,
  nowMs,
}: {
  readonly cert: string
  readonly key: string | undefined
  readonly nowMs: number
}): string | undefined {
  const parsed = parse(cert)
  if (parsed === undefined) return 'it cannot be read'
  if (!parsed.ca) return 'it is not a CA certificate'
  if (key !== undefined && !isKeyOf(parsed, key)) return 'the key beside it does not match'
  if (parsed.validToDate.getTime() > nowMs) return undefined
  const way = 'remove the folder to create a new CA, then create every kubeconfig again'
  return `it has expired on ${parsed.validTo}; ${way}`
}

/** Certificates are renewed when less than this time is left. */
export const renewBeforeMs = 60 * 24 * 3_600_000

function parse(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem)
  } catch {
    return undefined
  }
}

function isKeyOf(certificate: X509Certificate, key: string): boolean {
  try {
    return certificate.checkPrivateKey(createPrivateKey(key))
  } catch {
    return false
  }
}

function isSignedBy(certificate: X509Certificate, caCert: string): boolean {
  const issuer = parse(caCert)
  return issuer !== undefined && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)
}

function hasSubject({ subject }: X509Certificate, profile: CertificateProfile): boolean {
  const expected = [
    ...profile.organizations.map(organization => `O=${organization}`),
    `CN=${profile.commonName}`,
  ]
  return (subject ?? '').split('\n').sort().join('\n') === expected.sort().join('\n')
}

function isFor(certificate: X509Certificate, name: string): boolean {
  return (parseIp(name) === undefined ? certificate.checkHost(name) : certificate.checkIP(name)) !== undefined
}
