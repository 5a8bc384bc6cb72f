/** Verifies certificate chains by signature, not by the names in them. */
import { X509Certificate } from 'node:crypto'

/** Parses PEM. Throws if a certificate is invalid. */
export function readCertificates(pem: string): readonly X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  return blocks.map(block => new X509Certificate(block))
}

/**
 * True if one of the authorities signed the leaf certificate, directly or through the intermediates in the
 * chain. TLS has already verified the chain, with validity and key usage, but against several sets of
 * authorities at once.
 */
export function isSignedBy(chain: readonly Uint8Array[], authorities: readonly X509Certificate[]): boolean {
  const [leaf, ...rest] = chain.slice(0, chainLengthMax).map(parse)
  let current = leaf
  while (current !== undefined) {
    const subject = current
    if (authorities.some(authority => hasSigned(authority, subject))) return true
    // A self-signed root in the chain proves nothing, because it verifies only itself.
    current = rest.shift()
    if (current !== undefined && (!current.ca || !hasSigned(current, subject))) return false
  }
  return false
}

/** Maximum number of certificates in a chain, including the leaf. */
const chainLengthMax = 8

function hasSigned(issuer: X509Certificate, subject: X509Certificate): boolean {
  return subject.checkIssued(issuer) && subject.verify(issuer.publicKey)
}

function parse(der: Uint8Array): X509Certificate | undefined {
  try {
    return new X509Certificate(der)
  } catch {
    return undefined
  }
}
