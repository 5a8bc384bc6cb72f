/** Who vouches for a certificate, found out by its signatures and not by the names it mentions. */
import { X509Certificate } from 'node:crypto'

/** The certificates in a text of PEM. Throws when one of them cannot be read. */
export function readCertificates(pem: string): readonly X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  return blocks.map(block => new X509Certificate(block))
}

/**
 * Whether one of the authorities has signed the first certificate of a chain, itself or through those that
 * follow. The transport has verified the chain already, times and purposes included, but against authorities
 * of several kinds at once.
 */
export function isVouchedFor(chain: readonly Uint8Array[], authorities: readonly X509Certificate[]): boolean {
  const [leaf, ...rest] = chain.slice(0, chainLengthMax).map(parse)
  let current = leaf
  while (current !== undefined) {
    const subject = current
    if (authorities.some(authority => hasSigned(authority, subject))) return true
    // A root vouches for itself, which takes us nowhere.
    current = rest.shift()
    if (current !== undefined && (!current.ca || !hasSigned(current, subject))) return false
  }
  return false
}

/** Certificates between somebody and the authority that we know, both included. */
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
