/**
 * Publishes a DNS server as an endpoint of the service `kube-system/kube-dns`, beside the other DNS servers of the
 * cluster: each has an EndpointSlice and a Lease that it renews. A server whose lease has expired is removed by the
 * others; one that stops removes itself. A service with a selector, such as that of a CoreDNS deployment, has other
 * endpoints, and nothing is published.
 */
import { isApiError } from '#/api/errors.ts'
import type { Lease } from '#/api/generated/coordination/v1.ts'
import { leases } from '#/api/generated/coordination/v1-resources.ts'
import type { Service } from '#/api/generated/core/v1.ts'
import { services } from '#/api/generated/core/v1-resources.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import type { KubernetesObject, Stored } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { formatMicroTime } from '#/api/text/time.ts'
import type { Client } from '#/client/client.ts'
import type { Platform } from '#/platform/platform.ts'
import { applyDnsSlice, dnsService, dnsSliceOf } from './ensure-dns.ts'

export interface DnsEndpointOptions {
  readonly platform: Platform
  readonly client: Client
  readonly nodeName: string
  /** The address that the DNS server listens on. */
  readonly address: string
  readonly port: number
}

/** A server that has not renewed its lease for this time is removed. */
const leaseDurationSeconds = 15
const renewalMs = 4_000

/** Deadline of the removal when the server stops. */
const withdrawalMs = 3_000

const { namespace } = dnsService

/** Selects the leases of all DNS servers. */
const leaseLabels = { 'k8s-app': 'kube-dns' }

/** The last renewal of the lease of another server, and when it was observed, since clocks differ. */
interface Observation {
  readonly renewTime: string | undefined
  readonly observedMs: number
}

export class DnsEndpoint {
  readonly #options: DnsEndpointOptions
  readonly #name: string
  /** By name of the lease. */
  readonly #observed = new Map<string, Observation>()
  #wasPublished = false
  #hasWarned = false

  constructor(options: DnsEndpointOptions) {
    this.#options = options
    this.#name = `${dnsService.name}-${options.nodeName}`
  }

  get wasPublished(): boolean {
    return this.#wasPublished
  }

  /** Runs until aborted; the endpoint is removed then. Failures are retried. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options.platform
    while (!signal.aborted) {
      try {
        await this.#sync(signal)
      } catch (error) {
        if (signal.aborted) break
        log.warn('Failed to publish the endpoint of the cluster DNS, will retry', { error })
      }
      await clock.sleep(this.#wasPublished ? renewalMs : retryMs, signal).catch(() => undefined)
    }
    if (!this.#wasPublished) return
    try {
      await this.#remove(this.#name, { timeoutMs: withdrawalMs })
    } catch (error) {
      log.warn('Failed to remove the endpoint of the cluster DNS', { error })
    }
  }

  async #sync(signal: AbortSignal): Promise<void> {
    const service = await this.#service(signal)
    if (service === undefined) return
    await this.#renew(signal)
    await this.#publish(service, signal)
    this.#wasPublished = true
    await this.#removeExpired(signal)
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
      metadata: { ...known?.metadata, ...at, labels: leaseLabels },
      spec: {
        holderIdentity: nodeName,
        leaseDurationSeconds,
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

  async #removeExpired(signal: AbortSignal): Promise<void> {
    const { client, platform } = this.#options
    const labelSelector = Object.entries(leaseLabels)
      .map(pair => pair.join('='))
      .join()
    const { items } = await client.list(leases, { namespace, labelSelector, signal })
    const nowMs = platform.clock.monotonicMs()
    for (const { metadata, spec } of items) {
      const { name } = metadata
      const known = this.#observed.get(name)
      const renewTime = spec?.renewTime
      if (name === this.#name) continue
      if (known === undefined || known.renewTime !== renewTime)
        this.#observed.set(name, { renewTime, observedMs: nowMs })
      else if (nowMs - known.observedMs > leaseDurationSeconds * 1_000) {
        platform.log.info('Removing a DNS server whose lease has expired', { lease: name })
        await this.#remove(name, { signal })
        this.#observed.delete(name)
      }
    }
    const names = new Set(items.map(({ metadata }) => metadata.name))
    for (const name of this.#observed.keys()) if (!names.has(name)) this.#observed.delete(name)
  }

  /** The lease last, so that an interrupted removal is repeated. */
  async #remove(name: string, limits: RequestLimits): Promise<void> {
    await this.#delete(endpointSlices, name, limits)
    await this.#delete(leases, name, limits)
  }

  async #delete<T extends KubernetesObject>(
    resource: Resource<T>,
    name: string,
    limits: RequestLimits,
  ): Promise<void> {
    try {
      await this.#options.client.delete(resource, { namespace, name }, limits)
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error
    }
  }
}

interface RequestLimits {
  readonly signal?: AbortSignal
  readonly timeoutMs?: number
}

const retryMs = 1_000
