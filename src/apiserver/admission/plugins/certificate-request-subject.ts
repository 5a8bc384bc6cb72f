/** The subject of a PKCS#10 certificate request. */

export interface CertificateSubject {
  readonly commonName: string
  readonly organizations: readonly string[]
}

/**
 * Parses `spec.request`: base64-encoded PEM. Only the first PEM block is used, as by the signers. Throws if
 * it cannot be parsed.
 */
export async function certificateRequestSubject(base64: string): Promise<CertificateSubject> {
  const text = Buffer.from(base64, 'base64').toString('latin1')
  const [, type, content] = firstBlock.exec(text) ?? []
  if (type !== 'CERTIFICATE REQUEST' || content === undefined) {
    throw new Error('PEM block type must be CERTIFICATE REQUEST')
  }
  // Imported lazily: the library is slow to load and most servers never parse a certificate request.
  await import('reflect-metadata')
  const { Pkcs10CertificateRequest } = await import('@peculiar/x509')
  try {
    const { subjectName } = new Pkcs10CertificateRequest(Buffer.from(content, 'base64'))
    return { commonName: subjectName.getField('CN').at(-1) ?? '', organizations: subjectName.getField('O') }
  } catch (error) {
    throw new Error('unable to parse certificate request', { cause: error })
  }
}

const firstBlock = /-----BEGIN ([A-Z0-9 ]+)-----([^-]*)-----END /
