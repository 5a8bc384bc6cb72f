import { parseJson, stringifyJson } from '#/api/text/json.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { readWebhookKubeconfig, type WebhookTarget } from '#/kubeconfig/webhook-kubeconfig.ts'
import type { HttpConnect } from '#/platform/http-client.ts'
import type { Platform } from '#/platform/platform.ts'
import { RemoteServer } from '../../../remote-server.ts'

export interface BackendOptions {
  readonly platform: Platform
  readonly connectHttp: HttpConnect
  readonly kubeConfigFile: string
}

/** Client of the image policy webhook backend named by a kubeconfig file. */
export class ImagePolicyBackend {
  readonly #options: BackendOptions
  #opened: Promise<Opened> | undefined

  constructor(options: BackendOptions) {
    this.#options = options
  }

  /** Rejects if the kubeconfig file is unusable. */
  async open(): Promise<void> {
    await this.#open()
  }

  /** Posts an ImageReview and returns the response body. Rejects unless the status is 2xx. */
  async review(review: JsonValue): Promise<JsonValue> {
    const { server, remote } = await this.#open()
    const { pathname, search } = new URL(remote.url)
    const { status, bytes } = await server.request({
      path: `${pathname}${search}`,
      body: Buffer.from(stringifyJson(review)),
      timeoutMs,
      ...(remote.headers && { headers: remote.headers }),
    })
    if (status < 200 || status > 299)
      throw new Error(`image policy webhook backend returned status ${status}`)
    return parseJson(bytes)
  }

  async close(): Promise<void> {
    const opened = await this.#opened?.catch(() => undefined)
    opened?.server.close()
  }

  #open(): Promise<Opened> {
    this.#opened ??= this.#read()
    return this.#opened
  }

  async #read(): Promise<Opened> {
    const { platform, connectHttp, kubeConfigFile } = this.#options
    const remote = await readWebhookKubeconfig(platform, kubeConfigFile)
    const { origin } = new URL(remote.url)
    const server = new RemoteServer({
      clock: platform.clock,
      connectHttp,
      origin,
      answerBytesMax,
      ...(remote.tls && { tls: remote.tls }),
    })
    return { server, remote }
  }
}

interface Opened {
  readonly server: RemoteServer
  readonly remote: WebhookTarget
}

const timeoutMs = 30_000

/** Maximum response size; an ImageReview status is small. */
const answerBytesMax = 1024 * 1024
