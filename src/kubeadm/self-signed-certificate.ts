/** A certificate that no client trusts, so that a server has one before it is given one. */
import type { CertificateOptions, KeyAndCertificate } from './certificates.ts'
import { issueCaCertificate, issueCertificate } from './certificates/issue.ts'

export async function selfSignedCertificate(
  options: CertificateOptions,
  { commonName, names }: { readonly commonName: string; readonly names: readonly string[] },
): Promise<KeyAndCertificate> {
  const ca = await issueCaCertificate(options, `${commonName} CA`)
  return issueCertificate(options, { profile: { commonName, organizations: [], usage: 'server', names }, ca })
}
