/** The part of an API server that only exists among several servers of one store: shared endpoints and an identity. */
import type { Registry } from '../registry/registry.ts'
import { whenAvailable } from '../when-available.ts'
import { runIdentityLease } from './identity-lease.ts'
import type { ServiceOptions } from './kubernetes-service.ts'
import { LeaseEndpointReconciler } from './lease-endpoint-reconciler.ts'

export interface ApiServerPeersOptions {
  readonly service: ServiceOptions
  readonly hostName: string
  readonly signal: AbortSignal
}

export class ApiServerPeers {
  readonly #registry: Registry
  readonly #options: ApiServerPeersOptions
  readonly #endpoints: LeaseEndpointReconciler

  private constructor(registry: Registry, options: ApiServerPeersOptions) {
    this.#registry = registry
    this.#options = options
    this.#endpoints = new LeaseEndpointReconciler(registry, options.service)
  }

  /** Resolves when the endpoints contain this server. */
  static async join(registry: Registry, options: ApiServerPeersOptions): Promise<ApiServerPeers> {
    const peers = new ApiServerPeers(registry, options)
    await whenAvailable(registry.platform, options.signal, () => peers.#endpoints.join())
    return peers
  }

  /** Runs until aborted. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { hostName, service } = this.#options
    const address = `${service.advertiseAddress}:${service.port}`
    await Promise.all([
      this.#endpoints.run(signal),
      runIdentityLease(this.#registry, { hostName, address }, signal),
    ])
  }

  /** Removes this server from the endpoints. */
  async stop(): Promise<void> {
    await this.#endpoints.stop()
  }
}
