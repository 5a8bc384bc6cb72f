/** What somebody wants a certificate for. */

export interface CertificateRequest {
  readonly commonName: string
  readonly organizations: readonly string[]
  /** Names beside the subject, by what they are. */
  readonly names: Readonly<Record<NameType, readonly string[]>>
}

export type NameType = 'dns' | 'email' | 'ip' | 'uri'

/** The first block of a request as it is in the API, which is PEM in base64; undefined when it is no request. */
export function requestPemOf(base64: string): string | undefined {
  const text = Buffer.from(base64, 'base64').toString('latin1')
  const [block, type] = /-----BEGIN ([A-Z0-9 ]+)-----[^-]*-----END [A-Z0-9 ]+-----/.exec(text) ?? []
  return type === 'CERTIFICATE REQUEST' ? block : undefined
}

/** Undefined when it cannot be read: as it never changes, it never can. */
export async function readCertificateRequest(base64: string): Promise<CertificateRequest | undefined> {
  const pem = requestPemOf(base64)
  if (pem === undefined) return undefined
  // The library is slow to load, and most clusters are asked rarely.
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
