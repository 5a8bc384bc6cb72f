/**
 * Client certificates: a few that are valid, and many that must be rejected. As peers for the handler chain,
 * and as key pairs for real connections.
 */
import 'reflect-metadata'
import { X509Certificate as Parsed } from 'node:crypto'
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  X509CertificateGenerator,
  type Extension,
  type JsonName,
  type X509Certificate,
} from '@peculiar/x509'
import type { PeerCertificate } from '#/api/transport.ts'
import { nodeCrypto } from '#/platform/node.ts'
import type { Platform } from '#/platform/platform.ts'
import { Draw, strange } from './draw.ts'

export type Rights = 'anonymous' | 'nobody' | 'administrator'

export interface TestCertificates {
  /** PEM encoded. */
  readonly authority: string
  readonly frontProxyAuthority: string
  readonly peers: readonly { readonly who: Rights; readonly certificate: PeerCertificate }[]
  /** Client certificates for real connections. */
  readonly pairs: readonly TestPair[]
  /** PEM encoded serving certificate. */
  readonly server: { readonly cert: string; readonly key: string }
}

export interface TestPair {
  readonly what: string
  readonly who: Rights
  /** PEM encoded, including intermediate certificates. */
  readonly cert: string
  readonly key: string
}

interface KeyPair {
  readonly publicKey: CryptoKey
  readonly privateKey: CryptoKey
}

interface Issuer {
  readonly name: JsonName
  readonly keys: KeyPair
  readonly certificate?: X509Certificate
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const dayMs = 86_400_000
const masters: JsonName = [{ CN: ['root'] }, { O: ['system:masters'] }]
const niels: JsonName = [{ CN: ['niels'] }]

export async function makeCertificates(platform: Platform): Promise<TestCertificates> {
  const workshop = new Workshop(platform)
  const own = await workshop.authority([{ CN: ['kubernetes'] }])
  const front = await workshop.authority([{ CN: ['front-proxy-ca'] }])
  // An untrusted authority with the same name.
  const foreign = await workshop.authority([{ CN: ['kubernetes'] }])
  const issue = (what: string, who: Rights, issuer: Issuer, subject: JsonName, options?: IssueOptions) =>
    workshop.issue({ what, who, issuer, subject, ...options })
  await issue('an administrator', 'administrator', own, masters)
  await issue('nobody in particular', 'nobody', own, niels)
  await issue('masters of another authority', 'anonymous', foreign, masters)
  await issue('masters of the front proxy', 'anonymous', front, masters)
  await issue('a front proxy of the wrong authority', 'nobody', own, [{ CN: ['front-proxy-client'] }])
  await issue('expired', 'anonymous', own, masters, { fromDays: -10, toDays: -1, isLate: true })
  await issue('to come', 'anonymous', own, masters, { fromDays: 1, toDays: 10, isLate: true })
  await issue('a server', 'anonymous', own, masters, { usage: ExtendedKeyUsage.serverAuth, isLate: true })
  await issue('a leaf that is an authority', 'nobody', own, niels, { isAuthority: true })
  await issue('no name', 'anonymous', own, [{ O: ['system:masters'] }])
  await issue('nothing at all', 'anonymous', own, [])
  const selfSigned = await workshop.authority(masters)
  await workshop.take({
    what: 'signed by itself',
    who: 'anonymous',
    chain: [selfSigned.certificate!],
    keys: selfSigned.keys,
  })
  const user = await workshop.issuer(own, niels, false)
  await issue('masters of a user', 'anonymous', user, masters)
  const below = await workshop.issuer(foreign, [{ CN: ['kubernetes'] }], true)
  await issue('masters below another authority', 'anonymous', below, masters)
  for (const [index, name] of strange.entries()) {
    const text = name.toWellFormed().slice(0, 60)
    // The library parses values that begin with `#` as bytes.
    if (text === '' || text.startsWith('#') || text === 'system:masters') continue
    await issue(`the name ${index}`, 'nobody', own, [{ CN: [text] }])
    await issue(`the group ${index}`, 'nobody', own, [{ CN: ['niels'] }, { O: [`${text} `] }])
    await issue(`the masters ${index}`, 'nobody', own, [{ CN: ['niels'] }, { O: [`system:masters${text}x`] }])
    if (index % 4 === 0)
      await issue(`foreign ${index}`, 'anonymous', foreign, [{ CN: [text] }, { O: ['system:masters', text] }])
  }
  workshop.damage()
  const { peers, pairs } = workshop
  const server = pairs.find(({ what }) => what === 'a server')!
  return {
    authority: pemOf(own.certificate!),
    frontProxyAuthority: pemOf(front.certificate!),
    peers,
    pairs,
    server,
  }
}

interface IssueOptions {
  readonly fromDays?: number
  readonly toDays?: number
  readonly usage?: ExtendedKeyUsage
  readonly isAuthority?: boolean
  /** The error is detected only by the transport, during the handshake. */
  readonly isLate?: boolean
}

interface Named {
  readonly what: string
  readonly who: Rights
}

interface Issue extends Named, IssueOptions {
  readonly issuer: Issuer
  readonly subject: JsonName
}

interface Taken extends Named {
  readonly chain: readonly X509Certificate[]
  readonly keys: KeyPair
  readonly isLate?: boolean
}

interface Creation {
  readonly subject: JsonName
  readonly issuer: Issuer
  readonly keys: KeyPair
  readonly options: IssueOptions
}

class Workshop {
  readonly peers: { who: Rights; certificate: PeerCertificate }[] = []
  readonly pairs: TestPair[] = []
  readonly #crypto = nodeCrypto()
  readonly #nowMs: number
  readonly #keys: Promise<KeyPair>
  #serial = 1

  constructor({ clock }: Platform) {
    this.#nowMs = clock.now()
    // One key for all leaf certificates: identity does not depend on the key.
    this.#keys = this.#generate()
  }

  async authority(name: JsonName): Promise<Issuer> {
    const keys = await this.#generate()
    const certificate = await this.#create({
      subject: name,
      issuer: { name, keys },
      keys,
      options: { isAuthority: true },
    })
    return { name, keys, certificate }
  }

  async issuer(parent: Issuer, name: JsonName, isAuthority: boolean): Promise<Issuer> {
    const keys = await this.#generate()
    const certificate = await this.#create({ subject: name, issuer: parent, keys, options: { isAuthority } })
    return { name, keys, certificate }
  }

  async issue({ what, who, issuer, subject, ...options }: Issue): Promise<void> {
    const keys = await this.#keys
    const certificate = await this.#create({ subject, issuer, keys, options })
    const chain = [certificate, ...(issuer.certificate ? [issuer.certificate] : [])]
    await this.take({ what, who, chain, keys, ...options })
  }

  async take({ what, who, chain, keys, isLate = false }: Taken): Promise<void> {
    this.pairs.push({ what, who, key: await this.#export(keys), cert: chain.map(pemOf).join('') })
    // The handler chain only gets certificates that the transport accepts.
    if (!isLate) this.peers.push({ who, certificate: peerOf(chain.map(each => Buffer.from(each.rawData))) })
  }

  /** Adds administrator certificates with modified bytes, which no transport would accept. */
  damage(): void {
    const good = this.peers.find(({ who }) => who === 'administrator')!
    for (let seed = 0; seed < 200; seed++) {
      const chain = good.certificate.chain!.map(each => new Draw(seed).mutateBytes(each))
      this.peers.push({ who: 'anonymous', certificate: { ...good.certificate, chain } })
    }
    this.peers.push({ who: 'anonymous', certificate: { ...good.certificate, chain: [] } })
    this.peers.push({
      who: 'anonymous',
      certificate: { commonName: 'root', organizations: ['system:masters'] },
    })
  }

  #generate(): Promise<KeyPair> {
    return this.#crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  }

  async #export({ privateKey }: KeyPair): Promise<string> {
    return PemConverter.encode(await this.#crypto.subtle.exportKey('pkcs8', privateKey), 'PRIVATE KEY')
  }

  #create({ subject, issuer, keys, options }: Creation): Promise<X509Certificate> {
    const { fromDays = -1, toDays = 1, usage = ExtendedKeyUsage.clientAuth, isAuthority = false } = options
    const extensions: Extension[] = [
      new BasicConstraintsExtension(isAuthority, undefined, true),
      new KeyUsagesExtension(
        KeyUsageFlags.digitalSignature | (isAuthority ? KeyUsageFlags.keyCertSign : 0),
        true,
      ),
      ...(isAuthority && subject === issuer.name ? [] : [new ExtendedKeyUsageExtension([usage])]),
    ]
    return X509CertificateGenerator.create(
      {
        serialNumber: (this.#serial++).toString(16).padStart(4, '0'),
        subject,
        issuer: issuer.name,
        notBefore: new Date(this.#nowMs + fromDays * dayMs),
        notAfter: new Date(this.#nowMs + toDays * dayMs),
        publicKey: keys.publicKey,
        signingKey: issuer.keys.privateKey,
        signingAlgorithm: algorithm,
        extensions,
      },
      this.#crypto,
    )
  }
}

/** As parsed by the transport. */
function peerOf(chain: readonly Buffer[]): PeerCertificate {
  const { subject } = new Parsed(chain[0]!).toLegacyObject()
  const names: Readonly<Record<string, string | string[] | undefined>> = { ...subject }
  const values = (key: string): string[] => [names[key] ?? []].flat()
  return { commonName: values('CN').at(-1) ?? '', organizations: values('O'), chain }
}

function pemOf(certificate: X509Certificate): string {
  return `${certificate.toString('pem')}\n`
}
