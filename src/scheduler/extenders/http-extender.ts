import { readAll } from '#/base/read-all.ts'
import { DecodeError } from '#/api/decoding/decode-error.ts'
import { parseJson } from '#/api/text/json.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import type { HttpClient, HttpClientTls, HttpConnect } from '#/platform/http-client.ts'
import type { Clock } from '#/platform/platform.ts'

export interface HttpExtenderOptions {
  readonly clock: Clock
  readonly connectHttp: HttpConnect
  readonly urlPrefix: string
  readonly tls?: HttpClientTls
  readonly timeoutMs: number
}

/** Maximum response size, enough for all nodes of a large cluster. */
const responseBytesMax = 128 * 1024 * 1024

/** JSON over HTTP to one extender. Connects on the first call. */
export class HttpExtender implements AsyncDisposable {
  readonly #options: HttpExtenderOptions
  #client: HttpClient | undefined

  constructor(options: HttpExtenderOptions) {
    this.#options = options
  }

  /** Sends a body that is already JSON. Throws Error on failure or timeout. */
  async send(verb: string, body: string): Promise<JsonValue> {
    const { clock, connectHttp, urlPrefix, tls, timeoutMs } = this.#options
    const url = `${urlPrefix.replace(/\/+$/, '')}/${verb}`
    const { origin, pathname, search } = new URL(url)
    this.#client ??= connectHttp({ origin, ...(tls && { tls }), connectTimeoutMs: timeoutMs })
    const abortion = new AbortController()
    const timer = clock.setTimer(timeoutMs, () => {
      abortion.abort(new Error(`failed ${verb} with extender at URL ${url}: timed out after ${timeoutMs} ms`))
    })
    try {
      const response = await this.#client.request({
        method: 'POST',
        path: `${pathname}${search}`,
        headers: { 'accept': 'application/json', 'content-type': 'application/json' },
        body: Buffer.from(body),
        signal: abortion.signal,
      })
      if (response.status !== 200) {
        response.discard()
        throw new Error(`failed ${verb} with extender at URL ${url}, code ${response.status}`)
      }
      return parseJson(await readAll(response.body, responseBytesMax), { maxBytes: responseBytesMax })
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
      throw new Error(`failed ${verb} with extender at URL ${url}: ${error.message}`, { cause: error })
    } finally {
      timer.cancel()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client?.[Symbol.asyncDispose]()
  }
}
