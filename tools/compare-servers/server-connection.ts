import { openConnection } from '#/client/connection.ts'
import type { HttpTransport } from '#/client/http.ts'
import { TransportError } from '#/client/transport.ts'
import { loadKubeconfig, settingsOf } from '#/kubeconfig/kubeconfig.ts'
import { connectHttp, environmentVariables, nodePlatform } from '#/platform/node.ts'
import type { Answer } from './answers/answer.ts'
import { textOf, type SentRequest } from './request.ts'

/**
 * All requests are made as this user on both servers, because answers name the user (SelfSubjectReview,
 * CertificateSigningRequest). The users of the kubeconfigs must be allowed to impersonate it.
 */
const identity = { 'impersonate-user': 'compare-servers', 'impersonate-group': 'system:masters' }
const userAgent = 'compare-servers/1.0'

/** A request without an answer after this time is reported with status 0. */
const answerTimeoutMs = 60_000

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })

export class ServerConnection implements AsyncDisposable {
  /** `host:port`. */
  readonly address: string
  readonly #transport: HttpTransport

  private constructor(address: string, transport: HttpTransport) {
    this.address = address
    this.#transport = transport
  }

  static async open(kubeconfig: string): Promise<ServerConnection> {
    const sources = {
      explicitPath: kubeconfig,
      environment: environmentVariables(),
      workingFolder: process.cwd(),
    }
    const settings = settingsOf(await loadKubeconfig(platform, sources))
    if (settings === undefined) throw new Error(`${kubeconfig} names no server`)
    const transport = await openConnection({
      platform,
      connect: connectHttp,
      settings: { ...settings, disableCompression: true },
    })
    return new ServerConnection(new URL(settings.server).host, transport)
  }

  async send({ method, path, headers, body }: SentRequest): Promise<Answer> {
    const [plain = '', query = ''] = path.split('?', 2)
    try {
      const response = await this.#transport.request({
        method,
        path: plain,
        query: new URLSearchParams(query),
        headers: { 'user-agent': userAgent, ...identity, ...headers },
        ...(body && { body: { mediaType: body.mediaType, bytes: Buffer.from(textOf(body)) } }),
        signal: AbortSignal.timeout(answerTimeoutMs),
      })
      const pieces: Uint8Array[] = []
      for await (const piece of response.bytes()) pieces.push(piece)
      return { status: response.status, headers: response.headers, bytes: Buffer.concat(pieces) }
    } catch (error) {
      if (!(error instanceof TransportError || error instanceof DOMException)) throw error
      return { status: 0, headers: {}, bytes: Buffer.from(error.message) }
    }
  }

  /** The parsed body of a successful GET. */
  async get(path: string, accept = 'application/json'): Promise<unknown> {
    const { status, bytes } = await this.send({ method: 'GET', path, headers: { accept } })
    if (status !== 200) throw new Error(`${this.address}: GET ${path} answered ${status}`)
    return JSON.parse(Buffer.from(bytes).toString())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#transport[Symbol.asyncDispose]()
  }
}
