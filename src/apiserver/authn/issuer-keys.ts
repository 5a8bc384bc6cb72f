/**
 * The keys of an issuer elsewhere: found through its discovery document, and fetched again when it has new
 * ones.
 */
import { readJsonWebKeys, type PublicKey } from '#/base/json-web-key.ts'
import type { JsonValue } from '#/api/json-value.ts'
import type { HttpConnect } from '#/platform/http-client.ts'
import type { Clock } from '#/platform/platform.ts'
import { askRemote } from './remote-json.ts'

export interface IssuerKeysOptions {
  readonly clock: Clock
  readonly connectHttp: HttpConnect
  /** The issuer's name in tokens, which must be its name in the document too. */
  readonly url: string
  /** Where the document is, when not at its usual place below the URL. */
  readonly discoveryUrl?: string
  /** PEM; the system's authorities when absent. */
  readonly certificateAuthority?: string
}

/** So often an issuer is asked at most, however many tokens come that none of its known keys has signed. */
const fetchIntervalMs = 10_000

const fetchTimeoutMs = 30_000

export class IssuerKeys {
  readonly #options: IssuerKeysOptions
  #keysUrl: string | undefined
  #keys: readonly PublicKey[] = []
  #fetchedMs = -Infinity
  #fetching: Promise<void> | undefined

  constructor(options: IssuerKeysOptions) {
    this.#options = options
  }

  /** Those that are known now; all of them for a token that does not name its key. */
  known(keyId: string): readonly PublicKey[] {
    return this.#keys.filter(key => keyId === '' || key.keyId === keyId)
  }

  /** Asks the issuer, unless that was just done. Rejects when it does not answer as it should. */
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
    if (issuer !== url) throw new Error('the discovery document is of another issuer')
    if (typeof keysUrl !== 'string' || !URL.canParse(keysUrl) || new URL(keysUrl).protocol !== 'https:') {
      throw new Error('the discovery document does not say where the keys are')
    }
    return keysUrl
  }

  #ask(url: string): Promise<JsonValue> {
    const { clock, connectHttp, certificateAuthority: ca } = this.#options
    return askRemote({ clock, connectHttp, url, ...(ca && { tls: { ca } }), timeoutMs: fetchTimeoutMs })
  }
}

function membersOf(value: JsonValue): Readonly<Record<string, JsonValue>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
}
