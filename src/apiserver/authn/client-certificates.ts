/** Users whom a certificate names: its common name is theirs, its organizations are their groups. */
import { hash, X509Certificate } from 'node:crypto'
import type { PeerCertificate } from '#/api/transport.ts'
import type { ApiRequest, UserInfo } from '../request.ts'
import { withEverybody, type Outcome, type RequestAuthenticator } from './authenticator.ts'
import { isVouchedFor, readCertificates } from './certificate-chain.ts'
import { credentialId } from './extra-keys.ts'

export interface ClientCertificatesOptions {
  /**
   * PEM, of those who may name users. Absent when they are all that the transport trusts: then whatever it
   * has verified names a user.
   */
  readonly authorities?: string
}

export class ClientCertificates implements RequestAuthenticator {
  readonly #authorities: readonly X509Certificate[] | undefined
  /** A connection has one certificate and many requests. */
  readonly #known = new WeakMap<PeerCertificate, Known>()

  /** Throws when the authorities cannot be read. */
  constructor({ authorities }: ClientCertificatesOptions) {
    this.#authorities = authorities === undefined ? undefined : readCertificates(authorities)
  }

  authenticate({ peer }: ApiRequest): Outcome {
    const { certificate, certificateError } = peer
    if (certificate === undefined) {
      return certificateError === undefined
        ? undefined
        : { refused: `the client certificate is not good: ${certificateError}` }
    }
    let known = this.#known.get(certificate)
    if (known === undefined) this.#known.set(certificate, (known = { outcome: this.#identify(certificate) }))
    return known.outcome
  }

  #identify(certificate: PeerCertificate): Outcome {
    const { commonName, organizations, chain } = certificate
    if (this.#authorities !== undefined && !isVouchedFor(chain ?? [], this.#authorities)) {
      return { refused: 'the client certificate is not signed by an authority that names users' }
    }
    if (commonName === '') return undefined
    const uid = chain && uidIn(chain)
    if (uid === '') return { refused: 'the client certificate has no single uid' }
    const user: UserInfo = {
      username: commonName,
      ...(uid !== undefined && { uid }),
      groups: organizations,
      ...(chain?.[0] && { extra: { [credentialId]: [`X509SHA256=${hash('sha256', chain[0], 'hex')}`] } }),
    }
    return withEverybody({ user })
  }
}

/** An outcome that is undefined is known too. */
interface Known {
  readonly outcome: Outcome
}

/** Kubernetes' own attribute of a subject for the uid of a user. */
const uidAttribute = '1.3.6.1.4.1.57683.2'

/** Undefined when there is none, empty when there is not exactly one. */
function uidIn([leaf]: readonly Uint8Array[]): string | undefined {
  if (leaf === undefined) return undefined
  const { subject } = new X509Certificate(leaf).toLegacyObject()
  const values: Readonly<Record<string, string | readonly string[] | undefined>> = { ...subject }
  const value = values[uidAttribute]
  return value === undefined || typeof value === 'string' ? value : ''
}
