import type { HttpClient, HttpClientTls, HttpConnect } from '#/platform/http-client.ts'

/**
 * Clients of the servers that requests are passed on to, kept for the next request. At the bound the one goes that was
 * not used for longest; what it is doing is finished.
 */
export class RemoteClients implements AsyncDisposable {
  readonly #connectHttp: HttpConnect
  /** Least recently used first. */
  readonly #clients = new Map<string, Kept>()

  constructor(connectHttp: HttpConnect) {
    this.#connectHttp = connectHttp
  }

  /** `tls` is compared as it is: another object is another identity, and makes another client. */
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
