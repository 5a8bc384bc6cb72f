/**
 * Public keys of an OIDC issuer: located through its discovery document and refetched when a token has an
 * unknown key.
 */
import { readJsonWebKeys, type PublicKey } from '#/base/json-web-key.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import type { HttpConnect } from '#/platform/http-client.ts'
import type { Clock } from '#/platform/platform.ts'
import { requestJson } from './request-json.ts'

export interface OidcKeySetOptions {
  readonly clock: Clock
  readonly connectHttp: HttpConnect
  /** Issuer URL in tokens; must equal the issuer in the discovery document. */
  readonly url: string
  /** URL of the discovery document, if it is not at the well-known path of the issuer. */
  readonly discoveryUrl?: string
  /** PEM; defaults to the system's CAs. */
  readonly certificateAuthority?: string
}

/** Minimum interval between fetches, regardless of how many tokens have unknown keys. */
const fetchIntervalMs = 10_000

const fetchTimeoutMs = 30_000

export class OidcKeySet {
  readonly #options: OidcKeySetOptions
  #keysUrl: string | undefined
  #keys: readonly PublicKey[] = []
  #fetchedMs = -Infinity
  #fetching: Promise<void> | undefined

  constructor(options: OidcKeySetOptions) {
    this.#options = options
  }

  /** The cached keys with this id; all cached keys if the token has no key id. */
  known(keyId: string): readonly PublicKey[] {
    return this.#keys.filter(key => keyId === '' || key.keyId === keyId)
  }

  /**
   * Fetches the keys unless they were fetched recently. Rejects if the issuer is unavailable or its response
   * is invalid.
   */
  async refresh(): Promise<void> {
    const { clock } = this.#options
    if (this.#fetching === undefined && clock.monotonicMs() - this.#fetchedMs < fetchIntervalMs) return
    this.#fetching ??= this.#fetch().finally(() => {
      this.#fetchedMs = clock.monotonicMs()
      this.#fetching = undefined
    })
    await this.#fetching
  }

  async #fetch(): Promise<void> {
    this.#keysUrl ??= await this.#discover()
    this.#keys = readJsonWebKeys(await this.#ask(this.#keysUrl))
  }

  async #discover(): Promise<string> {
    const { url, discoveryUrl } = this.#options
    const document = await this.#ask(
      discoveryUrl ?? `${url.replace(/\/$/, '')}/.well-known/openid-configuration`,
    )
    const { issuer, jwks_uri: keysUrl } = membersOf(document)
    if (issuer !== url) throw new Error('oidc: issuer did not match the issuer returned by provider')
    if (typeof keysUrl !== 'string' || !URL.canParse(keysUrl) || new URL(keysUrl).protocol !== 'https:') {
      throw new Error('oidc: discovery document has no valid jwks_uri')
    }
    return keysUrl
  }

  #ask(url: string): Promise<JsonValue> {
    const { clock, connectHttp, certificateAuthority: ca } = this.#options
    return requestJson({ clock, connectHttp, url, ...(ca && { tls: { ca } }), timeoutMs: fetchTimeoutMs })
  }
}

function membersOf(value: JsonValue): Readonly<Record<string, JsonValue>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
}
