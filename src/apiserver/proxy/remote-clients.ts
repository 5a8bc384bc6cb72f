import type { HttpClient, HttpClientTls, HttpConnect } from '#/platform/http-client.ts'

/**
 * HTTP clients by upstream server, kept for reuse. At the bound the least recently used one is closed after
 * its current requests.
 */
export class RemoteClients implements AsyncDisposable {
  readonly #connectHttp: HttpConnect
  /** Least recently used first. */
  readonly #clients = new Map<string, Kept>()

  constructor(connectHttp: HttpConnect) {
    this.#connectHttp = connectHttp
  }

  /** `tls` is compared by identity; a different object creates a new client. */
  of(origin: string, tls?: HttpClientTls): HttpClient {
    const known = this.#clients.get(origin)
    this.#clients.delete(origin)
    if (known !== undefined && known.tls === tls) {
      this.#clients.set(origin, known)
      return known.client
    }
    known?.client.close()
    const client = this.#connectHttp({ origin, protocol: 'http1', ...(tls && { tls }) })
    this.#clients.set(origin, { client, tls })
    if (this.#clients.size > clientsMax) this.#closeOldest()
    return client
  }

  #closeOldest(): void {
    for (const [origin, { client }] of this.#clients) {
      this.#clients.delete(origin)
      return client.close()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const clients = [...this.#clients.values()]
    this.#clients.clear()
    await Promise.all(clients.map(({ client }) => client[Symbol.asyncDispose]()))
  }
}

const clientsMax = 1_000

interface Kept {
  readonly client: HttpClient
  readonly tls: HttpClientTls | undefined
}
