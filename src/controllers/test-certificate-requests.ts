/** Test helper: certificate requests in the API's encoding. */
import 'reflect-metadata'
import {
  Pkcs10CertificateRequestGenerator,
  SubjectAlternativeNameExtension,
  type JsonGeneralNames,
} from '@peculiar/x509'
import { nodeCrypto } from '#/platform/node.ts'

export interface TestRequest {
  readonly commonName?: string
  readonly organizations?: readonly string[]
  readonly names?: JsonGeneralNames
  readonly key?: 'P-256' | 'RSA' | 'Ed25519'
}

const algorithms = {
  'P-256': { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' },
  'RSA': {
    name: 'RSASSA-PKCS1-v1_5',
    modulusLength: 2048,
    publicExponent: new Uint8Array([1, 0, 1]),
    hash: 'SHA-256',
  },
  'Ed25519': { name: 'Ed25519' },
} as const

/** PEM, base64-encoded. */
export async function testRequest(request: TestRequest): Promise<string> {
  const { commonName = '', organizations = [], names = [], key = 'P-256' } = request
  const signingAlgorithm = algorithms[key]
  const crypto = nodeCrypto()
  const keys = await crypto.subtle.generateKey(signingAlgorithm, false, ['sign', 'verify'])
  const made = await Pkcs10CertificateRequestGenerator.create(
    {
      name: [
        ...organizations.map(organization => ({ O: [organization] })),
        ...(commonName === '' ? [] : [{ CN: [commonName] }]),
      ],
      keys: keys as Extract<typeof keys, { publicKey: unknown }>,
      signingAlgorithm,
      extensions: names.length === 0 ? [] : [new SubjectAlternativeNameExtension(names)],
    },
    crypto,
  )
  return Buffer.from(made.toString('pem')).toString('base64')
}
