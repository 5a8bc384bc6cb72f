/** The parsed contents of a PKCS #10 certificate request. */

export interface CertificateRequest {
  readonly commonName: string
  readonly organizations: readonly string[]
  /** Subject alternative names by type. */
  readonly names: Readonly<Record<NameType, readonly string[]>>
}

export type NameType = 'dns' | 'email' | 'ip' | 'uri'

/**
 * Extracts the first PEM block from the base64 form used in the API; undefined if it is not a certificate
 * request.
 */
export function requestPemOf(base64: string): string | undefined {
  const text = Buffer.from(base64, 'base64').toString('latin1')
  const [block, type] = /-----BEGIN ([A-Z0-9 ]+)-----[^-]*-----END [A-Z0-9 ]+-----/.exec(text) ?? []
  return type === 'CERTIFICATE REQUEST' ? block : undefined
}

/** Undefined if the request cannot be parsed. Retrying is pointless, since `spec.request` is immutable. */
export async function readCertificateRequest(base64: string): Promise<CertificateRequest | undefined> {
  const pem = requestPemOf(base64)
  if (pem === undefined) return undefined
  // Loaded on demand: the library is slow to load and rarely needed.
  await import('reflect-metadata')
  const { Pkcs10CertificateRequest, SubjectAlternativeNameExtension } = await import('@peculiar/x509')
  try {
    const { subjectName, extensions } = new Pkcs10CertificateRequest(pem)
    const names = [...extensions]
      .filter(extension => extension instanceof SubjectAlternativeNameExtension)
      .flatMap(extension => extension.names.toJSON())
    const of = (wanted: string): readonly string[] => {
      return names.filter(({ type }) => type === wanted).map(({ value }) => value)
    }
    return {
      commonName: subjectName.getField('CN').at(-1) ?? '',
      organizations: subjectName.getField('O'),
      names: { dns: of('dns'), email: of('email'), ip: of('ip'), uri: of('url') },
    }
  } catch {
    return undefined
  }
}
