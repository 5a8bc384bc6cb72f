/** Issues service account tokens and provides the keys to verify them. */
import { createPrivateKey, createPublicKey } from 'node:crypto'
import { keyIdOf, type PublicKey } from '#/base/json-web-key.ts'
import { signToken, tokenAlgorithmOf, type SigningKey } from '#/base/json-web-token.ts'
import { writeServiceAccountClaims, type ServiceAccountClaims } from './service-account-claims.ts'

export interface ServiceAccountIssuerOptions {
  /** Issuer URL in tokens. */
  readonly url: string
  /** PEM of the private signing key. */
  readonly signingKey: string
  /** PEM of additional keys that verify tokens, for key rotation. */
  readonly verificationKeys?: readonly string[]
  /** Default audiences of issued tokens; the issuer URL when absent. */
  readonly audiences?: readonly string[]
  /** Maximum lifetime; longer requests are shortened to it. */
  readonly expirationSecondsMax?: number
  /**
   * True (the default) if projected tokens are valid for a year although the kubelet renews them hourly, so
   * that programs that read the token only once keep working.
   */
  readonly extendsExpiration?: boolean
}

export class ServiceAccountIssuer {
  readonly url: string
  readonly audiences: readonly string[]
  readonly expirationSecondsMax: number | undefined
  readonly extendsExpiration: boolean
  /** Keys that verify current and previous tokens. */
  readonly keys: readonly PublicKey[]
  readonly #signingKey: SigningKey

  /** Throws if a key cannot be parsed or its type cannot sign tokens. */
  constructor(options: ServiceAccountIssuerOptions) {
    const privateKey = createPrivateKey(options.signingKey)
    if (tokenAlgorithmOf(privateKey) === undefined) {
      throw new Error('service account key must be an RSA or ECDSA (P-256, P-384, P-521) key')
    }
    this.url = options.url
    this.audiences = options.audiences ?? [options.url]
    this.expirationSecondsMax = options.expirationSecondsMax
    this.extendsExpiration = options.extendsExpiration ?? true
    this.#signingKey = { privateKey, keyId: keyIdOf(privateKey) }
    const publicKeys = [privateKey, ...(options.verificationKeys ?? [])].map(key => createPublicKey(key))
    this.keys = [...new Map(publicKeys.map(key => [keyIdOf(key), key]))].map(([keyId, key]) => ({
      keyId,
      key,
    }))
  }

  issue(claims: ServiceAccountClaims): string {
    return signToken(writeServiceAccountClaims(this.url, claims), this.#signingKey)
  }
}
