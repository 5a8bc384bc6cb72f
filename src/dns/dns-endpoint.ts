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
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import type { Stored } from '#/api/metadata.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { formatMicroTime } from '#/api/text/time.ts'
import { offAbort, onAbort } from '#/base/abort.ts'
import type { Client } from '#/client/client.ts'
import type { Informer } from '#/client/informer.ts'
import { Informers } from '#/client/informers.ts'
import type { Selection } from '#/client/reflector.ts'
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

/** Between renewals of the lease. */
const renewalMs = 4_000

/** Deadline of the removal when the server stops. */
const withdrawalMs = 3_000

const { namespace } = dnsService

export class DnsEndpoint {
  readonly #options: DnsEndpointOptions
  readonly #name: string
  readonly #expired: ExpiredDnsEndpoints
  readonly #informers: Informers
  readonly #services: Informer<Service>
  readonly #slices: Informer<EndpointSlice>
  /** The lease as last written by this server; undefined if it may have changed since. */
  #lease: Stored<Lease> | undefined
  #renewAtMs = -Infinity
  /** True if the service or the slice has changed since the last sync. */
  #hasChanged = false
  #endPause = (): void => undefined
  #wasPublished = false
  #hasWarned = false

  constructor(options: DnsEndpointOptions) {
    this.#options = options
    this.#name = `${dnsService.name}-${options.nodeName}`
    this.#expired = new ExpiredDnsEndpoints({ ...options, own: this.#name })
    this.#informers = new Informers(options)
    const selectionOf = (name: string): Selection => ({ namespace, fieldSelector: `metadata.name=${name}` })
    this.#services = this.#informers.of(services, selectionOf(dnsService.name))
    this.#slices = this.#informers.of(endpointSlices, selectionOf(this.#name))
    const onChange = (): void => {
      this.#hasChanged = true
      this.#endPause()
    }
    this.#services.addEventHandler(onChange)
    this.#slices.addEventHandler(onChange)
  }

  get wasPublished(): boolean {
    return this.#wasPublished
  }

  /** Runs until aborted; the endpoint is removed then. Failures are retried. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options.platform
    const following = this.#informers.run(signal)
    let removing: Promise<void> | undefined
    while (!signal.aborted) {
      let isSynced = false
      try {
        await this.#sync(signal)
        isSynced = true
        if (this.#wasPublished) removing ??= this.#expired.run(signal)
      } catch (error) {
        if (signal.aborted) break
        this.#lease = undefined
        log.warn('Failed to publish the endpoint of the cluster DNS, will retry', { error })
      }
      const nowMs = clock.monotonicMs()
      const nextMs = isSynced && !this.#wasPublished ? idleMs : this.#renewAtMs - nowMs
      await this.#pause(Math.max(retryMs, nextMs), signal)
    }
    await Promise.all([removing, following])
    if (!this.#wasPublished) return
    try {
      await removeDnsEndpoint(this.#options.client, this.#name, { timeoutMs: withdrawalMs })
    } catch (error) {
      // As when the whole cluster stops. The endpoint is removed when its lease has expired.
      log.info('Failed to remove the endpoint of the cluster DNS', { error })
    }
  }

  async #sync(signal: AbortSignal): Promise<void> {
    await this.#informers.waitForSync(signal)
    this.#hasChanged = false
    const service = this.#service()
    if (service === undefined) return
    const { clock } = this.#options.platform
    if (clock.monotonicMs() >= this.#renewAtMs) {
      await this.#renew(signal)
      this.#renewAtMs = clock.monotonicMs() + renewalMs
    }
    const [slice] = this.#slices.list()
    if (!this.#isCurrent(slice, service)) await this.#publish(service, signal)
    this.#wasPublished = true
  }

  /** Undefined until it exists, and if its endpoints are pods. */
  #service(): Stored<Service> | undefined {
    const [service] = this.#services.list()
    if (Object.keys(service?.spec?.selector ?? {}).length === 0) return service
    if (!this.#hasWarned)
      this.#options.platform.log.warn(
        'Service kube-system/kube-dns has a selector, so that its pods are used',
      )
    this.#hasWarned = true
    return undefined
  }

  async #renew(signal: AbortSignal): Promise<void> {
    const { client, platform, nodeName } = this.#options
    const at = { namespace, name: this.#name }
    const known = this.#lease ?? (await client.find(leases, at, { signal }))
    const wanted: Lease = {
      ...known,
      metadata: { ...known?.metadata, ...at, labels: dnsLeaseLabels },
      spec: {
        holderIdentity: nodeName,
        leaseDurationSeconds: dnsLeaseSeconds,
        renewTime: formatMicroTime(platform.clock.now()),
      },
    }
    this.#lease = await (known === undefined
      ? client.create(leases, wanted, { signal })
      : client.update(leases, wanted, { signal }))
  }

  #isCurrent(known: Stored<EndpointSlice> | undefined, service: Stored<Service>): boolean {
    const wanted = dnsSliceOf(service, { ...this.#options, name: this.#name })
    return (
      known !== undefined &&
      equalJson(known.endpoints, wanted.endpoints) &&
      known.metadata.ownerReferences?.[0]?.uid === service.metadata.uid
    )
  }

  async #publish(service: Stored<Service>, signal: AbortSignal): Promise<void> {
    const { client } = this.#options
    const name = this.#name
    // What is watched may be older than the last write.
    const known = await client.find(endpointSlices, { namespace, name }, { signal })
    if (this.#isCurrent(known, service)) return
    const wanted = dnsSliceOf(service, { ...this.#options, name })
    // The address type of a slice cannot be changed.
    if (known !== undefined && known.addressType !== wanted.addressType)
      await client.delete(endpointSlices, { namespace, name }, { signal })
    await applyDnsSlice(client, wanted)
  }

  /** Ends early when the service or the slice changes. */
  async #pause(delayMs: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#hasChanged) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#endPause = resolve
    const timer = this.#options.platform.clock.setTimer(delayMs, resolve)
    onAbort(signal, resolve)
    await promise
    offAbort(signal, resolve)
    timer.cancel()
  }
}

const retryMs = 1_000

/** Without the service there is nothing to do until it changes. */
const idleMs = 60_000
