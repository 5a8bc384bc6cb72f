/** For whom a certificate is requested. */

export interface CertificateSubject {
  readonly commonName: string
  readonly organizations: readonly string[]
}

/**
 * Reads a request as it is in the API: PEM, in base64. The first block counts, as it does for those who sign. Throws an
 * error when it cannot be read.
 */
export async function certificateRequestSubject(base64: string): Promise<CertificateSubject> {
  const text = Buffer.from(base64, 'base64').toString('latin1')
  const [, type, content] = firstBlock.exec(text) ?? []
  if (type !== 'CERTIFICATE REQUEST' || content === undefined) {
    throw new Error('PEM block type must be CERTIFICATE REQUEST')
  }
  // The library is slow to load, and most servers never read a request.
  await import('reflect-metadata')
  const { Pkcs10CertificateRequest } = await import('@peculiar/x509')
  try {
    const { subjectName } = new Pkcs10CertificateRequest(Buffer.from(content, 'base64'))
    return { commonName: subjectName.getField('CN').at(-1) ?? '', organizations: subjectName.getField('O') }
  } catch (error) {
    throw new Error('it is not a certificate request', { cause: error })
  }
}

const firstBlock = /-----BEGIN ([A-Z0-9 ]+)-----([^-]*)-----END /
