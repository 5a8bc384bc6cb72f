/**
 * Hashes of the public keys of certificate authorities, by which a joining machine recognizes the cluster:
 * `sha256:` and the SHA-256 of the Subject Public Key Info (RFC 7469) in hexadecimal digits.
 *
 * ```sh
 * openssl x509 -in ca.crt -pubkey -noout | openssl pkey -pubin -outform der | sha256sum
 * ```
 */
import { createHash, X509Certificate } from 'node:crypto'

/** The certificates of a PEM bundle. Throws when one of them is malformed. */
export function splitCertificates(bundle: string): readonly string[] {
  // Text between the certificates is allowed.
  const found = bundle.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? []
  return found.map(pem => new X509Certificate(pem).toString())
}

export function caCertHash(certificate: string): string {
  const info = new X509Certificate(certificate).publicKey.export({ type: 'spki', format: 'der' })
  return `sha256:${createHash('sha256').update(info).digest('hex')}`
}

/** One line; undefined when the hash is well-formed. */
export function validateCaCertHash(hash: string): string | undefined {
  const [format = '', value = '', ...more] = hash.split(':')
  if (more.length > 0 || !hash.includes(':'))
    return `invalid hash ${JSON.stringify(hash)}, expected "format:hex-value"`
  if (format !== 'sha256') return `unknown hash format ${JSON.stringify(format)}, expected sha256`
  return /^[0-9a-f]{64}$/i.test(value)
    ? undefined
    : `invalid hash ${JSON.stringify(hash)}: expected 64 hexadecimal digits`
}

/** One line; undefined when one of the certificates of the bundle has one of the hashes. */
export function validatePinnedCa(bundle: string, hashes: readonly string[]): string | undefined {
  const found = splitCertificates(bundle).map(caCertHash)
  if (found.length === 0) return 'there is no CA certificate'
  if (found.some(each => hashes.some(hash => hash.toLowerCase() === each))) return undefined
  const keys = found.join(', ')
  return `none of the public keys ${keys} are pinned`
}
