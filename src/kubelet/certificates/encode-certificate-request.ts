/** Encodes certificate requests (PKCS #10). Imported only when needed: the library is slow to load. */
import 'reflect-metadata'
import { createPrivateKey, createPublicKey } from 'node:crypto'
import { Pkcs10CertificateRequestGenerator, SubjectAlternativeNameExtension } from '@peculiar/x509'
import { parseIp } from '#/api/net/ip.ts'
import { keyAlgorithm } from '#/base/elliptic-keys.ts'
import type { CertificateTemplate } from './request-certificate.ts'

/** PEM. */
export async function encodeCertificateRequest(
  crypto: Crypto,
  key: string,
  { subject, names }: Pick<CertificateTemplate, 'subject' | 'names'>,
): Promise<string> {
  const privateKey = createPrivateKey(key)
  const request = await Pkcs10CertificateRequestGenerator.create(
    {
      name: [
        ...subject.organizations.map(organization => ({ O: [organization] })),
        { CN: [subject.commonName] },
      ],
      keys: {
        privateKey: privateKey.toCryptoKey(keyAlgorithm, false, ['sign']),
        publicKey: createPublicKey(privateKey).toCryptoKey(keyAlgorithm, true, ['verify']),
      },
      signingAlgorithm: { ...keyAlgorithm, hash: 'SHA-256' },
      extensions: names.length === 0 ? [] : [new SubjectAlternativeNameExtension(names.map(nameOf))],
    },
    crypto,
  )
  return request.toString('pem')
}

function nameOf(value: string): { readonly type: 'dns' | 'ip'; readonly value: string } {
  return { type: parseIp(value) === undefined ? 'dns' : 'ip', value }
}
