/** Issues a certificate for a certificate signing request. */
import 'reflect-metadata'
import { createPrivateKey } from 'node:crypto'
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  Pkcs10CertificateRequest,
  SubjectAlternativeNameExtension,
  X509Certificate,
  X509CertificateGenerator,
  type Extension,
} from '@peculiar/x509'
import type { SigningRequest } from '../csr-signer.ts'
import { authorityKeyIdentifier, importSigningKey, pemOf, serialNumber } from './issue.ts'
import type { CertificateOptions, KeyAndCertificate } from './pair-files.ts'

export async function signCertificateRequest(
  options: CertificateOptions,
  ca: KeyAndCertificate,
  { request: pem, usages, notBeforeMs, notAfterMs }: SigningRequest,
): Promise<string> {
  const { crypto } = options
  const request = new Pkcs10CertificateRequest(pem)
  if (!(await request.verify(crypto))) {
    throw new Error('invalid certificate request: signature does not match its public key')
  }
  const issuer = new X509Certificate(ca.cert)
  const endMs = issuer.notAfter.getTime()
  if (options.platform.clock.now() >= endMs) {
    throw new Error(
      `cannot sign certificate request: CA certificate expired at ${issuer.notAfter.toISOString()}`,
    )
  }
  const { key: signingKey, algorithm: signingAlgorithm } = importSigningKey(createPrivateKey(ca.key))
  const subject = request.subjectName.toJSON()
  const certificate = await X509CertificateGenerator.create(
    {
      serialNumber: serialNumber(options),
      subject,
      issuer: issuer.subjectName,
      notBefore: new Date(notBeforeMs),
      notAfter: new Date(Math.min(notAfterMs, endMs)),
      publicKey: request.publicKey,
      signingKey,
      signingAlgorithm,
      extensions: [
        ...usageExtensions(usages),
        new BasicConstraintsExtension(false, undefined, true),
        await authorityKeyIdentifier(issuer, crypto),
        ...alternativeNames(request, subject.length === 0),
      ],
    },
    crypto,
  )
  return pemOf(certificate)
}

function usageExtensions(usages: readonly string[]): Extension[] {
  const flags = usages.reduce((sum, usage) => sum | (keyUsages.get(usage) ?? 0), 0)
  const purposes = [...new Set(usages.flatMap(usage => extendedUsages.get(usage) ?? []))]
  const unknown = usages.find(usage => !keyUsages.has(usage) && !extendedUsages.has(usage))
  if (unknown !== undefined) throw new Error(`cannot sign certificate request: unknown usage ${unknown}`)
  return [
    ...(flags === 0 ? [] : [new KeyUsagesExtension(flags, true)]),
    ...(purposes.length === 0 ? [] : [new ExtendedKeyUsageExtension(purposes)]),
  ]
}

/**
 * Subject alternative names are the only extension copied from the request: the others have not been
 * validated.
 */
function alternativeNames({ extensions }: Pkcs10CertificateRequest, isCritical: boolean): Extension[] {
  const names = [...extensions]
    .filter(extension => extension instanceof SubjectAlternativeNameExtension)
    .flatMap(extension => extension.names.toJSON())
    .filter(({ type }) => nameTypes.has(type))
  return names.length === 0 ? [] : [new SubjectAlternativeNameExtension(names, isCritical)]
}

const nameTypes: ReadonlySet<string> = new Set(['dns', 'email', 'ip', 'url'])

const keyUsages: ReadonlyMap<string, number> = new Map([
  ['signing', KeyUsageFlags.digitalSignature],
  ['digital signature', KeyUsageFlags.digitalSignature],
  ['content commitment', KeyUsageFlags.nonRepudiation],
  ['key encipherment', KeyUsageFlags.keyEncipherment],
  ['key agreement', KeyUsageFlags.keyAgreement],
  ['data encipherment', KeyUsageFlags.dataEncipherment],
  ['cert sign', KeyUsageFlags.keyCertSign],
  ['crl sign', KeyUsageFlags.cRLSign],
  ['encipher only', KeyUsageFlags.encipherOnly],
  ['decipher only', KeyUsageFlags.decipherOnly],
])

const extendedUsages: ReadonlyMap<string, string> = new Map([
  ['any', '2.5.29.37.0'],
  ['server auth', ExtendedKeyUsage.serverAuth],
  ['client auth', ExtendedKeyUsage.clientAuth],
  ['code signing', ExtendedKeyUsage.codeSigning],
  ['email protection', ExtendedKeyUsage.emailProtection],
  ['s/mime', ExtendedKeyUsage.emailProtection],
  ['ipsec end system', '1.3.6.1.5.5.7.3.5'],
  ['ipsec tunnel', '1.3.6.1.5.5.7.3.6'],
  ['ipsec user', '1.3.6.1.5.5.7.3.7'],
  ['timestamping', ExtendedKeyUsage.timeStamping],
  ['ocsp signing', ExtendedKeyUsage.ocspSigning],
  ['microsoft sgc', '1.3.6.1.4.1.311.10.3.3'],
  ['netscape sgc', '2.16.840.1.113730.4.1'],
])
