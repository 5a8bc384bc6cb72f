/**
 * Removes the endpoints of DNS servers that have stopped without removing themselves, such as those of failed nodes:
 * their leases are no longer renewed. Each server of the cluster does this for the others.
 */
import { isApiError } from '#/api/errors.ts'
import { leases } from '#/api/generated/coordination/v1-resources.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import { Informer } from '#/client/informer.ts'
import type { Client } from '#/client/client.ts'
import type { Platform, Timer } from '#/platform/platform.ts'
import { dnsService } from './ensure-dns.ts'

export interface ExpiredDnsEndpointsOptions {
  readonly platform: Platform
  readonly client: Client
  /** Name of the lease of this server, which is not removed. */
  readonly own?: string
}

/** A server that has not renewed its lease for this time is removed. */
export const dnsLeaseSeconds = 15

/** Selects the leases of all DNS servers. */
export const dnsLeaseLabels = { 'k8s-app': 'kube-dns' }

const retryMs = 2_000

const { namespace } = dnsService

export class ExpiredDnsEndpoints {
  readonly #options: ExpiredDnsEndpointsOptions
  /** By name of the lease. They start when a renewal is observed, since clocks differ. */
  readonly #timers = new Map<string, Timer>()

  constructor(options: ExpiredDnsEndpointsOptions) {
    this.#options = options
  }

  /** Runs until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const labelSelector = Object.entries(dnsLeaseLabels)
      .map(pair => pair.join('='))
      .join()
    const informer = new Informer({
      ...this.#options,
      resource: leases,
      selection: { namespace, labelSelector },
    })
    informer.addEventHandler((_key, { oldObject, newObject }) => {
      const name = (newObject ?? oldObject)?.metadata.name ?? ''
      if (name === this.#options.own) return
      this.#timers.get(name)?.cancel()
      this.#timers.delete(name)
      if (newObject !== undefined) this.#expire(name, { delayMs: dnsLeaseSeconds * 1_000, signal })
    })
    await informer.run(signal)
    for (const timer of this.#timers.values()) timer.cancel()
    this.#timers.clear()
  }

  #expire(name: string, after: { readonly delayMs: number; readonly signal: AbortSignal }): void {
    if (after.signal.aborted) return
    const timer = this.#options.platform.clock.setTimer(
      after.delayMs,
      () => void this.#remove(name, after.signal),
    )
    this.#timers.set(name, timer)
  }

  async #remove(name: string, signal: AbortSignal): Promise<void> {
    const { client, platform } = this.#options
    platform.log.info('Removing a DNS server whose lease has expired', { lease: name })
    try {
      await removeDnsEndpoint(client, name, { signal })
    } catch (error) {
      if (signal.aborted) return
      platform.log.warn('Failed to remove a DNS server whose lease has expired, will retry', {
        lease: name,
        error,
      })
      this.#expire(name, { delayMs: retryMs, signal })
    }
  }
}

interface RequestLimits {
  readonly signal?: AbortSignal
  readonly timeoutMs?: number
}

/** The lease last, so that an interrupted removal is repeated. */
export async function removeDnsEndpoint(client: Client, name: string, limits: RequestLimits): Promise<void> {
  await deleteIfExists(endpointSlices)
  await deleteIfExists(leases)

  async function deleteIfExists<T extends KubernetesObject>(resource: Resource<T>): Promise<void> {
    try {
      await client.delete(resource, { namespace, name }, limits)
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error
    }
  }
}
