/** The health check node ports of services, which external load balancers probe. */
import type { Duplex } from 'node:stream'
import { parseKey } from '#/api/metadata.ts'
import { ConnectionPool } from '#/base/connection-pool.ts'
import type { Clock, Listener, Platform } from '#/platform/platform.ts'

/** Limits for the request of a load balancer. */
const requestTimeoutMs = 5_000
const requestBytesMax = 8 * 1024

/** Maximum number of connections to one port; further ones are closed. */
const connectionsMax = 100

/** The health check node port of a service, and its local endpoints. */
export interface HealthCheckNodePort {
  readonly port: number
  readonly localEndpoints: number
}

/**
 * Serves the health check node ports of services with `externalTrafficPolicy: Local`: 200 if this node has
 * endpoints of the service, 503 otherwise.
 */
export class ServiceHealthServer implements AsyncDisposable {
  readonly #platform: Platform
  readonly #addresses: readonly string[]
  readonly #checks = new Map<string, OpenCheck>()
  /** By service key. */
  #wanted: ReadonlyMap<string, HealthCheckNodePort> = new Map()

  /** Listens on each of the addresses. */
  constructor(platform: Platform, addresses: readonly string[]) {
    this.#platform = platform
    this.#addresses = addresses
  }

  /** Serves exactly these services, by key. Ports that cannot be bound are retried on the next sync. */
  async sync(wanted: ReadonlyMap<string, HealthCheckNodePort>): Promise<void> {
    this.#wanted = wanted
    for (const [key, { port, listeners }] of this.#checks) {
      if (wanted.get(key)?.port === port) continue
      this.#checks.delete(key)
      await Promise.all(listeners.map(listener => listener[Symbol.asyncDispose]()))
    }
    for (const [key, { port }] of wanted) if (!this.#checks.has(key)) await this.#open(key, port)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sync(new Map())
  }

  async #open(key: string, port: number): Promise<void> {
    const { network, log } = this.#platform
    const listeners: Listener[] = []
    const check: OpenCheck = { port, listeners, connections: new ConnectionPool(connectionsMax) }
    try {
      for (const host of this.#addresses) {
        listeners.push(
          await network.listen({ host, port }, (connection, address) => {
            this.#accept(connection, { key, check, address })
          }),
        )
      }
      this.#checks.set(key, check)
    } catch (error) {
      await Promise.all(listeners.map(listener => listener[Symbol.asyncDispose]()))
      log.warn('Failed to start healthcheck', { service: key, port, error })
    }
  }

  #accept(connection: Duplex, { key, check, address }: Accepted): void {
    const { connections } = check
    const closed = connections.add(connection, { address, nowMs: this.#platform.clock.monotonicMs() })
    closed?.destroy()
    if (closed === connection) return
    connection.once('close', () => connections.delete(connection))
    answer(connection, this.#platform.clock, () => responseTo(key, this.#wanted.get(key)))
  }
}

interface Accepted {
  readonly key: string
  readonly check: OpenCheck
  readonly address: string
}

interface OpenCheck {
  readonly port: number
  readonly listeners: readonly Listener[]
  readonly connections: ConnectionPool<Duplex>
}

/** One response per connection, regardless of the request. */
function answer(connection: Duplex, clock: Clock, response: () => string): void {
  const timer = clock.setTimer(requestTimeoutMs, () => void connection.destroy())
  let received = ''
  connection.once('close', () => timer.cancel())
  connection.on('error', () => undefined)
  connection.on('data', (bytes: Uint8Array) => {
    received += Buffer.from(bytes).toString('latin1')
    if (received.length > requestBytesMax) return void connection.destroy()
    if (!received.includes('\r\n\r\n')) return
    connection.removeAllListeners('data')
    connection.resume()
    connection.end(response())
  })
}

function responseTo(key: string, health: HealthCheckNodePort | undefined): string {
  const { namespace, name } = parseKey(key)
  const localEndpoints = health?.localEndpoints ?? 0
  const body = JSON.stringify({ service: { namespace, name }, localEndpoints, serviceProxyHealthy: true })
  return [
    `HTTP/1.1 ${localEndpoints > 0 ? '200 OK' : '503 Service Unavailable'}`,
    'Content-Type: application/json',
    'X-Content-Type-Options: nosniff',
    `X-Load-Balancing-Endpoint-Weight: ${localEndpoints}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n')
}
