/**
 * Authenticates users by client certificate: the common name is the user name, the organizations are the
 * groups.
 */
import { hash, X509Certificate } from 'node:crypto'
import type { PeerCertificate } from '#/api/transport.ts'
import type { ApiRequest, UserInfo } from '../request.ts'
import {
  isAuthenticated,
  withAuthenticatedGroup,
  type AuthenticationResult,
  type RequestAuthenticator,
} from './authenticator.ts'
import { isSignedBy, readCertificates } from './certificate-chain.ts'
import { credentialId } from './extra-keys.ts'

export interface ClientCertificatesOptions {
  /**
   * PEM of the client CAs. Absent if TLS trusts only client CAs; then every verified certificate identifies a
   * user.
   */
  readonly authorities?: string
  /** Called with the time at which the certificate of a request expires. */
  readonly onUse?: (expiresMs: number) => void
}

export class ClientCertificates implements RequestAuthenticator {
  readonly #authorities: readonly X509Certificate[] | undefined
  readonly #onUse: ClientCertificatesOptions['onUse']
  /** Cached by certificate, because a connection carries many requests. */
  readonly #known = new WeakMap<PeerCertificate, Known>()

  /** Throws if the authorities cannot be parsed. */
  constructor({ authorities, onUse }: ClientCertificatesOptions) {
    this.#onUse = onUse
    this.#authorities = authorities === undefined ? undefined : readCertificates(authorities)
  }

  authenticate({ peer }: ApiRequest): AuthenticationResult {
    const { certificate, certificateError } = peer
    if (certificate === undefined) {
      return certificateError === undefined
        ? undefined
        : { failure: `client certificate verification failed: ${certificateError}` }
    }
    let known = this.#known.get(certificate)
    if (known === undefined) {
      const result = this.#identify(certificate)
      known = { result, expiresMs: isAuthenticated(result) ? expiryOf(certificate) : undefined }
      this.#known.set(certificate, known)
    }
    if (known.expiresMs !== undefined) this.#onUse?.(known.expiresMs)
    return known.result
  }

  #identify(certificate: PeerCertificate): AuthenticationResult {
    const { commonName, organizations, chain } = certificate
    if (this.#authorities !== undefined && !isSignedBy(chain ?? [], this.#authorities)) {
      return { failure: 'client certificate signed by unknown authority' }
    }
    if (commonName === '') return undefined
    const uid = chain && uidIn(chain)
    if (uid === '') return { failure: 'client certificate has multiple UID attributes' }
    const user: UserInfo = {
      username: commonName,
      ...(uid !== undefined && { uid }),
      groups: organizations,
      ...(chain?.[0] && { extra: { [credentialId]: [`X509SHA256=${hash('sha256', chain[0], 'hex')}`] } }),
    }
    return withAuthenticatedGroup({ user })
  }
}

/** Wrapper, because an undefined result is cached too. */
interface Known {
  readonly result: AuthenticationResult
  readonly expiresMs: number | undefined
}

function expiryOf({ chain }: PeerCertificate): number | undefined {
  return chain?.[0] && new X509Certificate(chain[0]).validToDate.getTime()
}

/** OID of Kubernetes' subject attribute for the user's uid. */
const uidAttribute = '1.3.6.1.4.1.57683.2'

/** Undefined if there is no uid attribute, empty if there are several. */
function uidIn([leaf]: readonly Uint8Array[]): string | undefined {
  if (leaf === undefined) return undefined
  const { subject } = new X509Certificate(leaf).toLegacyObject()
  const values: Readonly<Record<string, string | readonly string[] | undefined>> = { ...subject }
  const value = values[uidAttribute]
  return value === undefined || typeof value === 'string' ? value : ''
}
