/** The health check node ports of services, which external load balancers probe. */
import { parseKey } from '#/api/metadata.ts'
import { PlainHttpServer, type PlainResponse } from '#/platform/plain-http.ts'
import type { Platform } from '#/platform/platform.ts'

/** The health check node port of a service, and its local endpoints. */
export interface HealthCheckNodePort {
  readonly port: number
  readonly localEndpoints: number
}

/**
 * Serves the health check node ports of services with `externalTrafficPolicy: Local`: 200 if this node has
 * endpoints of the service and programs its rules, 503 otherwise.
 */
export class ServiceHealthServer implements AsyncDisposable {
  readonly #platform: Platform
  readonly #addresses: readonly string[]
  readonly #isProxyHealthy: () => boolean
  readonly #checks = new Map<string, OpenCheck>()
  /** By service key. */
  #wanted: ReadonlyMap<string, HealthCheckNodePort> = new Map()

  /** Listens on each of the addresses. */
  constructor(platform: Platform, addresses: readonly string[], isProxyHealthy: () => boolean) {
    this.#platform = platform
    this.#addresses = addresses
    this.#isProxyHealthy = isProxyHealthy
  }

  /** Serves exactly these services, by key. Ports that cannot be bound are retried on the next sync. */
  async sync(wanted: ReadonlyMap<string, HealthCheckNodePort>): Promise<void> {
    this.#wanted = wanted
    for (const [key, { port, servers }] of this.#checks) {
      if (wanted.get(key)?.port === port) continue
      this.#checks.delete(key)
      await Promise.all(servers.map(server => server[Symbol.asyncDispose]()))
    }
    for (const [key, { port }] of wanted) if (!this.#checks.has(key)) await this.#open(key, port)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sync(new Map())
  }

  async #open(key: string, port: number): Promise<void> {
    const platform = this.#platform
    const servers: PlainHttpServer[] = []
    const answer = (): PlainResponse => responseTo(key, this.#wanted.get(key), this.#isProxyHealthy())
    try {
      for (const host of this.#addresses)
        servers.push(await PlainHttpServer.start({ platform, host, port, answer }))
      this.#checks.set(key, { port, servers })
    } catch (error) {
      await Promise.all(servers.map(server => server[Symbol.asyncDispose]()))
      platform.log.warn('Failed to start healthcheck', { service: key, port, error })
    }
  }
}

interface OpenCheck {
  readonly port: number
  readonly servers: readonly PlainHttpServer[]
}

function responseTo(
  key: string,
  health: HealthCheckNodePort | undefined,
  isProxyHealthy: boolean,
): PlainResponse {
  const { namespace, name } = parseKey(key)
  const localEndpoints = health?.localEndpoints ?? 0
  const service = { namespace, name }
  return {
    status: localEndpoints > 0 && isProxyHealthy ? 200 : 503,
    mediaType: 'application/json',
    headers: { 'X-Load-Balancing-Endpoint-Weight': String(localEndpoints) },
    text: JSON.stringify({ service, localEndpoints, serviceProxyHealthy: isProxyHealthy }),
  }
}
