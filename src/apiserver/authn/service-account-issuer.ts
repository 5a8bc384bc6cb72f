/** Gives out tokens of service accounts, and tells others how to verify them. */
import { createPrivateKey, createPublicKey } from 'node:crypto'
import { keyIdOf, type PublicKey } from '#/base/json-web-key.ts'
import { signToken, tokenAlgorithmOf, type SigningKey } from '#/base/json-web-token.ts'
import { writeServiceAccountClaims, type ServiceAccountClaims } from './service-account-claims.ts'

export interface ServiceAccountIssuerOptions {
  /** How the issuer is called in tokens: a URL. */
  readonly url: string
  /** PEM, of the key that signs. */
  readonly signingKey: string
  /** PEM, of keys whose tokens are taken beside those of the signing key, while one replaces another. */
  readonly verificationKeys?: readonly string[]
  /**
   * Who this server is: tokens that are asked for without saying for whom are for it. The URL when absent.
   */
  readonly audiences?: readonly string[]
  /** Longer ones are shortened to it. */
  readonly expirationSecondsMax?: number
  /**
   * Whether tokens of pods last a year although a new one is there every hour, so that programs that read
   * their token only once go on working. True when absent.
   */
  readonly extendsExpiration?: boolean
}

export class ServiceAccountIssuer {
  readonly url: string
  readonly audiences: readonly string[]
  readonly expirationSecondsMax: number | undefined
  readonly extendsExpiration: boolean
  /** That verify what is given out, and what was before. */
  readonly keys: readonly PublicKey[]
  readonly #signingKey: SigningKey

  /** Throws when a key cannot be read, or is of a kind that does not sign tokens. */
  constructor(options: ServiceAccountIssuerOptions) {
    const privateKey = createPrivateKey(options.signingKey)
    if (tokenAlgorithmOf(privateKey) === undefined) {
      throw new Error('the key of service accounts is neither an RSA key nor one of a NIST curve')
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
