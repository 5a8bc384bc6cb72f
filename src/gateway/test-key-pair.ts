/** A certificate for these DNS names with its private key, both in PEM. */
import 'reflect-metadata'
import { SubjectAlternativeNameExtension, X509CertificateGenerator } from '@peculiar/x509'
import { exportPrivateKey, generateKeys, keyAlgorithm } from '#/base/elliptic-keys.ts'
import { nodeCrypto } from '#/platform/node.ts'

export async function testKeyPair(
  dnsNames: readonly string[],
): Promise<{ readonly cert: string; readonly key: string }> {
  const crypto = nodeCrypto()
  const keys = await generateKeys(crypto)
  const certificate = await X509CertificateGenerator.createSelfSigned(
    {
      serialNumber: '01',
      name: 'CN=test',
      notBefore: new Date(Date.UTC(2020, 0)),
      notAfter: new Date(Date.UTC(2120, 0)),
      keys,
      signingAlgorithm: { ...keyAlgorithm, hash: 'SHA-256' },
      extensions: [new SubjectAlternativeNameExtension(dnsNames.map(value => ({ type: 'dns', value })))],
    },
    crypto,
  )
  return { cert: certificate.toString('pem'), key: await exportPrivateKey(crypto, keys.privateKey) }
}
