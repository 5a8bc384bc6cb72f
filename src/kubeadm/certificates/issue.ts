/** Creates keys and certificates. Imported only when needed: the library is slow to load. */
import 'reflect-metadata'
import { createPrivateKey, type KeyObject } from 'node:crypto'
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
  type Extension,
  type JsonName,
} from '@peculiar/x509'
import { parseIp } from '#/api/net/ip.ts'
import { exportPrivateKey, generateKeys, keyAlgorithm } from '#/base/elliptic-keys.ts'
import type { CertificateOptions, KeyAndCertificate } from './pair-files.ts'
import type { CertificateProfile } from './profile.ts'

const dayMs = 24 * 3_600_000

/** Tolerates clock skew: certificates are valid on machines with a clock slightly behind. */
const backdatedMs = 5 * 60_000

const authorityDays = 3_650
const certificateDays = 365

const ordinaryUsage = KeyUsageFlags.digitalSignature | KeyUsageFlags.keyEncipherment

export async function issueCaCertificate(
  options: CertificateOptions,
  commonName: string,
): Promise<KeyAndCertificate> {
  const { crypto, validity } = options
  const keys = await generateKeys(crypto)
  const nowMs = options.platform.clock.now()
  const certificate = await X509CertificateGenerator.createSelfSigned(
    {
      serialNumber: serialNumber(options),
      name: [{ CN: [commonName] }],
      notBefore: new Date(nowMs - backdatedMs),
      notAfter: new Date(nowMs + (validity?.caMs ?? authorityDays * dayMs)),
      keys,
      signingAlgorithm: { ...keyAlgorithm, hash: 'SHA-256' },
      extensions: [
        new BasicConstraintsExtension(true, undefined, true),
        new KeyUsagesExtension(ordinaryUsage | KeyUsageFlags.keyCertSign, true),
        await SubjectKeyIdentifierExtension.create(keys.publicKey, false, crypto),
        new SubjectAlternativeNameExtension([{ type: 'dns', value: commonName }]),
      ],
    },
    crypto,
  )
  return { cert: pemOf(certificate), key: await exportPrivateKey(crypto, keys.privateKey) }
}

export interface Issue {
  readonly profile: CertificateProfile
  readonly ca: KeyAndCertificate
  /** A year when absent. Limited by the expiry of the CA. */
  readonly validityMs?: number | undefined
}

export async function issueCertificate(
  options: CertificateOptions,
  { profile, ca, validityMs = options.validity?.certificateMs ?? certificateDays * dayMs }: Issue,
): Promise<KeyAndCertificate> {
  const { crypto } = options
  const issuer = new X509Certificate(ca.cert)
  const { key: signingKey, algorithm: signingAlgorithm } = importSigningKey(createPrivateKey(ca.key))
  const keys = await generateKeys(crypto)
  const nowMs = options.platform.clock.now()
  const certificate = await X509CertificateGenerator.create(
    {
      serialNumber: serialNumber(options),
      subject: subjectOf(profile),
      issuer: issuer.subjectName,
      notBefore: new Date(Math.max(nowMs - backdatedMs, issuer.notBefore.getTime())),
      notAfter: new Date(Math.min(nowMs + validityMs, issuer.notAfter.getTime())),
      publicKey: keys.publicKey,
      signingKey,
      signingAlgorithm,
      extensions: [
        new BasicConstraintsExtension(false, undefined, true),
        new KeyUsagesExtension(ordinaryUsage, true),
        new ExtendedKeyUsageExtension(usages[profile.usage]),
        await authorityKeyIdentifier(issuer, crypto),
        ...alternativeNames(profile),
      ],
    },
    crypto,
  )
  return { cert: pemOf(certificate), key: await exportPrivateKey(crypto, keys.privateKey) }
}

const usages: Readonly<Record<CertificateProfile['usage'], ExtendedKeyUsage[]>> = {
  'server': [ExtendedKeyUsage.serverAuth],
  'client': [ExtendedKeyUsage.clientAuth],
  'server and client': [ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth],
}

function subjectOf({ commonName, organizations }: CertificateProfile): JsonName {
  return [...organizations.map(organization => ({ O: [organization] })), { CN: [commonName] }]
}

function alternativeNames({ names }: CertificateProfile): Extension[] {
  if (names.length === 0) return []
  return [
    new SubjectAlternativeNameExtension(
      names.map(value => {
        return { type: parseIp(value) === undefined ? 'dns' : 'ip', value }
      }),
    ),
  ]
}

/** What a certificate like the existing one contains. Throws when it cannot be parsed. */
export function profileOf(pem: string): CertificateProfile {
  const { subjectName, extensions } = new X509Certificate(pem)
  const purposes = extensions.find(each => each instanceof ExtendedKeyUsageExtension)?.usages ?? []
  const names = extensions.find(each => each instanceof SubjectAlternativeNameExtension)?.names.toJSON() ?? []
  const isServer = purposes.includes(ExtendedKeyUsage.serverAuth)
  const isClient = purposes.includes(ExtendedKeyUsage.clientAuth)
  return {
    commonName: subjectName.getField('CN')[0] ?? '',
    organizations: subjectName.getField('O'),
    usage: isServer && isClient ? 'server and client' : isServer ? 'server' : 'client',
    names: names.map(({ value }) => value),
  }
}

/** That of the CA's certificate, whose key identifier may be made by another method than the usual one. */
export async function authorityKeyIdentifier(issuer: X509Certificate, crypto: Crypto): Promise<Extension> {
  const subject = issuer.extensions.find(each => each instanceof SubjectKeyIdentifierExtension)
  if (subject !== undefined) return new AuthorityKeyIdentifierExtension(subject.keyId)
  return AuthorityKeyIdentifierExtension.create(issuer.publicKey, false, crypto)
}

/** Positive, and short enough for every implementation. */
export function serialNumber({ platform }: CertificateOptions): string {
  const bytes = Buffer.from(platform.random.bytes('certificate-serial', 16))
  bytes[0] = (bytes[0]! & 0x3f) | 0x40
  return bytes.toString('hex')
}

export function pemOf(certificate: X509Certificate): string {
  return `${certificate.toString('pem').trim()}\n`
}

/** Curve names of Node and of the Web Cryptography API. */
const curves: ReadonlyMap<string, string> = new Map([
  ['prime256v1', 'P-256'],
  ['secp384r1', 'P-384'],
  ['secp521r1', 'P-521'],
])

export function importSigningKey(key: KeyObject) {
  const hash = 'SHA-256'
  if (key.asymmetricKeyType === 'rsa') {
    const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash }
    return { key: key.toCryptoKey(algorithm, false, ['sign']), algorithm }
  }
  const namedCurve = curves.get(key.asymmetricKeyDetails?.namedCurve ?? '')
  if (namedCurve === undefined) {
    throw new Error('cannot sign with ca.key: unsupported key type (RSA or a NIST curve required)')
  }
  const algorithm = { name: 'ECDSA', namedCurve, hash }
  return { key: key.toCryptoKey(algorithm, false, ['sign']), algorithm }
}
