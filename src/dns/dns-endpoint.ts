/**
 * Publishes a DNS server as an endpoint of the service `kube-system/kube-dns`, beside the other DNS servers of the
 * cluster: each has an EndpointSlice and a Lease that it renews. A server whose lease has expired is removed by the
 * others; one that stops removes itself. A service with a selector, such as that of a CoreDNS deployment, has other
 * endpoints, and nothing is published.
 */
import type { Lease } from '#/api/generated/coordination/v1.ts'
import { leases } from '#/api/generated/coordination/v1-resources.ts'
import type { Service } from '#/api/generated/core/v1.ts'
import { services } from '#/api/generated/core/v1-resources.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import type { Stored } from '#/api/metadata.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { formatMicroTime } from '#/api/text/time.ts'
import type { Client } from '#/client/client.ts'
import type { Platform } from '#/platform/platform.ts'
import { applyDnsSlice, dnsService, dnsSliceOf } from './ensure-dns.ts'
import {
  dnsLeaseLabels,
  dnsLeaseSeconds,
  ExpiredDnsEndpoints,
  removeDnsEndpoint,
} from './expired-endpoints.ts'

export interface DnsEndpointOptions {
  readonly platform: Platform
  readonly client: Client
  readonly nodeName: string
  /** The address that the DNS server listens on. */
  readonly address: string
  readonly port: number
}

const renewalMs = 4_000

/** Deadline of the removal when the server stops. */
const withdrawalMs = 3_000

const { namespace } = dnsService

export class DnsEndpoint {
  readonly #options: DnsEndpointOptions
  readonly #name: string
  readonly #expired: ExpiredDnsEndpoints
  #wasPublished = false
  #hasWarned = false

  constructor(options: DnsEndpointOptions) {
    this.#options = options
    this.#name = `${dnsService.name}-${options.nodeName}`
    this.#expired = new ExpiredDnsEndpoints({ ...options, own: this.#name })
  }

  get wasPublished(): boolean {
    return this.#wasPublished
  }

  /** Runs until aborted; the endpoint is removed then. Failures are retried. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options.platform
    let removing: Promise<void> | undefined
    while (!signal.aborted) {
      try {
        await this.#sync(signal)
        if (this.#wasPublished) removing ??= this.#expired.run(signal)
      } catch (error) {
        if (signal.aborted) break
        log.warn('Failed to publish the endpoint of the cluster DNS, will retry', { error })
      }
      await clock.sleep(this.#wasPublished ? renewalMs : retryMs, signal).catch(() => undefined)
    }
    await removing
    if (!this.#wasPublished) return
    try {
      await removeDnsEndpoint(this.#options.client, this.#name, { timeoutMs: withdrawalMs })
    } catch (error) {
      // As when the whole cluster stops. The endpoint is removed when its lease has expired.
      log.info('Failed to remove the endpoint of the cluster DNS', { error })
    }
  }

  async #sync(signal: AbortSignal): Promise<void> {
    const service = await this.#service(signal)
    if (service === undefined) return
    await this.#renew(signal)
    await this.#publish(service, signal)
    this.#wasPublished = true
  }

  /** Undefined until it exists, and if its endpoints are pods. */
  async #service(signal: AbortSignal): Promise<Stored<Service> | undefined> {
    const { client, platform } = this.#options
    const fieldSelector = `metadata.name=${dnsService.name}`
    const { items } = await client.list(services, { namespace, fieldSelector, signal })
    const [service] = items
    if (Object.keys(service?.spec?.selector ?? {}).length === 0) return service
    if (!this.#hasWarned)
      platform.log.warn('Service kube-system/kube-dns has a selector, so that its pods are used')
    this.#hasWarned = true
    return undefined
  }

  async #renew(signal: AbortSignal): Promise<void> {
    const { client, platform, nodeName } = this.#options
    const at = { namespace, name: this.#name }
    const known = await client.find(leases, at, { signal })
    const wanted: Lease = {
      ...known,
      metadata: { ...known?.metadata, ...at, labels: dnsLeaseLabels },
      spec: {
        holderIdentity: nodeName,
        leaseDurationSeconds: dnsLeaseSeconds,
        renewTime: formatMicroTime(platform.clock.now()),
      },
    }
    await (known === undefined
      ? client.create(leases, wanted, { signal })
      : client.update(leases, wanted, { signal }))
  }

  async #publish(service: Stored<Service>, signal: AbortSignal): Promise<void> {
    const { client } = this.#options
    const name = this.#name
    const known = await client.find(endpointSlices, { namespace, name }, { signal })
    const wanted = dnsSliceOf(service, { ...this.#options, name })
    const isCurrent =
      known !== undefined &&
      equalJson(known.endpoints, wanted.endpoints) &&
      known.metadata.ownerReferences?.[0]?.uid === service.metadata.uid
    if (isCurrent) return
    // The address type of a slice cannot be changed.
    if (known !== undefined && known.addressType !== wanted.addressType)
      await client.delete(endpointSlices, { namespace, name }, { signal })
    await applyDnsSlice(client, wanted)
  }
}

const retryMs = 1_000
