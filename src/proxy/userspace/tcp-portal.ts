import type { Duplex } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Listener, Platform } from '#/platform/platform.ts'
import type { ServiceEndpoint } from '../plan.ts'
import type { EndpointBalancer } from './endpoint-balancer.ts'
import type { ConnectionLimit, Portal } from './portal.ts'

/** The first endpoint is waited for only briefly, the following ones longer. */
const connectTimeoutsMs = [250, 500, 1_000, 2_000]

/** Accepts connections to a service port, and copies them to those to its endpoints. */
export class TcpPortal implements Portal {
  readonly #platform: Pick<Platform, 'clock' | 'network'>
  readonly #balancer: EndpointBalancer
  readonly #limit: ConnectionLimit
  readonly #connections = new Set<Duplex>()
  readonly #stopping = new AbortController()
  #listener: Listener | undefined

  constructor(
    platform: Pick<Platform, 'clock' | 'network'>,
    balancer: EndpointBalancer,
    limit: ConnectionLimit,
  ) {
    this.#platform = platform
    this.#balancer = balancer
    this.#limit = limit
  }

  async listen(host: string): Promise<number> {
    const { network } = this.#platform
    this.#listener = await network.listen({ host, port: 0 }, (connection, from) => {
      void this.#serve(connection, from)
    })
    const { address } = this.#listener
    return 'port' in address ? address.port : 0
  }

  /** Connections to endpoints that are gone go on, as with the other modes. */
  endpointsChanged(): void {}

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort()
    await this.#listener?.[Symbol.asyncDispose]()
    for (const connection of this.#connections) connection.destroy()
  }

  async #serve(connection: Duplex, client: string): Promise<void> {
    if (!this.#limit.take()) return void connection.destroy()
    this.#connections.add(connection)
    try {
      const endpoint = await this.#connect(connection, client)
      if (endpoint === undefined) return
      this.#connections.add(endpoint)
      await Promise.allSettled([pipeline(connection, endpoint), pipeline(endpoint, connection)])
      endpoint.destroy()
      this.#connections.delete(endpoint)
    } finally {
      connection.destroy()
      this.#connections.delete(connection)
      this.#limit.release()
    }
  }

  /** Tries the endpoints one after the other; undefined if none accepts. */
  async #connect(connection: Duplex, client: string): Promise<Duplex | undefined> {
    const { clock, network } = this.#platform
    const endpoints = this.#balancer.order(client, clock.monotonicMs())
    for (const [index, timeoutMs] of connectTimeoutsMs.entries()) {
      const endpoint = endpoints[index % Math.max(1, endpoints.length)]
      if (endpoint === undefined || connection.destroyed) return undefined
      const timeout = new AbortController()
      const timer = clock.setTimer(timeoutMs, () => timeout.abort())
      const signal = AbortSignal.any([this.#stopping.signal, timeout.signal])
      try {
        const connected = await network.connect(socketAddress(endpoint), signal)
        this.#balancer.used(client, endpoint, clock.monotonicMs())
        return connected
      } catch {
        if (this.#stopping.signal.aborted) return undefined
      } finally {
        timer.cancel()
      }
    }
    return undefined
  }
}

function socketAddress({ address, port }: ServiceEndpoint): { readonly host: string; readonly port: number } {
  return { host: address, port }
}
