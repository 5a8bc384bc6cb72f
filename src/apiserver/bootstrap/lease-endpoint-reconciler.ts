/**
 * Shares the endpoints of the `kubernetes` Service between the API servers of one store, as Kubernetes' lease endpoint
 * reconciler: each server keeps a key with a TTL, and the endpoints are the addresses of the keys that exist. A server
 * that fails stops refreshing its key, and the others remove its address.
 */
import { isApiError } from '#/api/errors.ts'
import type { Endpoints } from '#/api/generated/core/v1.ts'
import { endpoints } from '#/api/generated/core/v1-resources.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import { groupVersionKindOf } from '#/api/group-version.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { ThrottledLog } from '#/platform/throttled-log.ts'
import { createObject } from '../registry/create-object.ts'
import type { Registry } from '../registry/registry.ts'
import { storeRoot } from '../registry/store-keys.ts'
import { systemWriteRequest } from '../registry/system-write-request.ts'
import { updateObject } from '../registry/update-object.ts'
import { kubernetesService, type ServiceOptions } from './kubernetes-service.ts'

/** The keys, one for each server, named by its address; upstream's API servers on the same store use them, too. */
const prefix = `${storeRoot}masterleases/`

const leaseMs = 15_000
const refreshMs = 10_000

/** Maximum time for the removal of the address when the server stops. */
const removeTimeoutMs = 2_000

export class LeaseEndpointReconciler {
  readonly #registry: Registry
  readonly #service: ServiceOptions
  readonly #log: ThrottledLog
  #isStopping = false
  /** At most one reconcile runs at a time, since a refresh must not follow the removal. */
  #running: Promise<void> = Promise.resolve()

  constructor(registry: Registry, service: ServiceOptions) {
    this.#registry = registry
    this.#service = service
    this.#log = new ThrottledLog(registry.platform)
  }

  /** As `#reconcile`, and replaces the port, which may have changed since the last start. */
  async join(): Promise<void> {
    await this.#reconcile({ reconcilesPorts: true })
  }

  /** Refreshes the key of this server and updates the endpoints. */
  async #reconcile(options: UpdateOptions): Promise<void> {
    if (this.#isStopping || !this.#hasEndpoints) return
    const before = this.#running.catch(() => undefined)
    this.#running = before.then(async () => {
      await this.#refresh()
      await this.#update(options)
    })
    await this.#running
  }

  /** A loopback address is of no use to pods. */
  get #hasEndpoints(): boolean {
    return kubernetesService(this.#service).length > 1
  }

  /** Runs until aborted. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#registry.platform
    while (!signal.aborted) {
      await clock.sleep(refreshMs, signal).catch(() => undefined)
      if (signal.aborted || this.#isStopping) return
      await this.#reconcile({ reconcilesPorts: false }).catch((error: unknown) => {
        if (!signal.aborted)
          this.#log.warn('kubernetes', 'Failed to reconcile kubernetes endpoints', { error })
      })
    }
  }

  /** Removes the address of this server, so that no client is sent to it after it has stopped. */
  async stop(): Promise<void> {
    if (this.#isStopping || !this.#hasEndpoints) return
    this.#isStopping = true
    const { clock, log } = this.#registry.platform
    const removing = this.#running
      .catch(() => undefined)
      .then(() => this.#remove())
      .catch((error: unknown) =>
        log.warn('Failed to remove the kubernetes endpoint of this server', { error }),
      )
    await Promise.race([removing, clock.sleep(removeTimeoutMs)])
  }

  async #refresh(): Promise<void> {
    const { store } = this.#registry
    const key = this.#key
    const value = Buffer.from(JSON.stringify(leaseOf(this.#service.advertiseAddress)))
    let current = await store.get(key)
    for (let attempts = 0; attempts < attemptsMax; attempts++) {
      const result =
        current === undefined
          ? await store.create(key, value, { ttlMs: leaseMs })
          : await store.update(key, value, { ttlMs: leaseMs, expectedRevision: current.revision })
      if (result.written) return
      current = result.current
    }
    throw new Error(`cannot refresh ${key}: it changes too often`)
  }

  async #remove(): Promise<void> {
    const { store } = this.#registry
    const current = await store.get(this.#key)
    if (current) await store.delete(this.#key, { expectedRevision: current.revision })
    await this.#update({ reconcilesPorts: false })
  }

  get #key(): string {
    return `${prefix}${this.#service.advertiseAddress}`
  }

  async #update({ reconcilesPorts }: UpdateOptions): Promise<void> {
    const { entries } = await this.#registry.store.list({ prefix })
    const addresses = entries.map(({ key }) => key.slice(prefix.length))
    // This server has just refreshed its own key, so that no keys mean a fault of the store.
    if (addresses.length === 0 && !this.#isStopping) throw new Error('there are no leases of API servers')
    const [, ownEndpoints, ownSlice] = kubernetesService(this.#service)
    const shared = { addresses, reconcilesPorts }
    if (ownEndpoints)
      await this.#write(ownEndpoints, stored =>
        endpointsOf(stored as Endpoints, ownEndpoints as Endpoints, shared),
      )
    if (ownSlice)
      await this.#write(ownSlice, stored =>
        sliceOf(stored as EndpointSlice, ownSlice as EndpointSlice, shared),
      )
  }

  async #write(own: KubernetesObject, change: (stored: KubernetesObject) => KubernetesObject): Promise<void> {
    const kind = groupVersionKindOf(own)
    const resource = kind?.kind === 'Endpoints' ? endpoints : endpointSlices
    const request = systemWriteRequest(resource, 'kubernetes', 'default')
    try {
      await updateObject(this.#registry, request, { change })
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error
      await createObject(this.#registry, request, change(own))
    }
  }
}

const attemptsMax = 5

/** Readable by upstream's API servers. */
function leaseOf(address: string): Endpoints {
  return { kind: 'Endpoints', apiVersion: 'v1', metadata: {}, subsets: [{ addresses: [{ ip: address }] }] }
}

interface UpdateOptions {
  readonly reconcilesPorts: boolean
}

interface SharedEndpoints extends UpdateOptions {
  /** Of all servers. */
  readonly addresses: readonly string[]
}

/** The same object if there is nothing to change. */
function endpointsOf(
  stored: Endpoints,
  own: Endpoints,
  { addresses, reconcilesPorts }: SharedEndpoints,
): Endpoints {
  const [subset] = stored.subsets ?? []
  const ownPorts = own.subsets?.[0]?.ports ?? []
  const ports = reconcilesPorts ? ownPorts : (subset?.ports ?? ownPorts)
  const storedAddresses = subset?.addresses?.map(({ ip }) => ip ?? '') ?? []
  const isSingle = (stored.subsets ?? []).length === (addresses.length === 0 ? 0 : 1)
  if (isSingle && isSameSet(storedAddresses, addresses) && equalJson(subset?.ports ?? ports, ports))
    return stored
  return {
    ...stored,
    subsets: addresses.length === 0 ? [] : [{ addresses: addresses.map(ip => ({ ip })), ports }],
  }
}

/** The same object if there is nothing to change. The addressType is immutable. */
function sliceOf(
  stored: EndpointSlice,
  own: EndpointSlice,
  { addresses, reconcilesPorts }: SharedEndpoints,
): EndpointSlice {
  const storedAddresses = (stored.endpoints ?? []).flatMap(each => each.addresses)
  const family = addresses.filter(each => each.includes(':') === (own.addressType === 'IPv6'))
  const ports = reconcilesPorts ? (own.ports ?? []) : (stored.ports ?? own.ports ?? [])
  const isSame = isSameSet(storedAddresses, family) && equalJson(stored.ports ?? [], ports)
  if (stored.addressType !== own.addressType || isSame) return stored
  const conditions = { ready: true }
  return { ...stored, endpoints: family.map(address => ({ addresses: [address], conditions })), ports }
}

function isSameSet(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && new Set(left).isSupersetOf(new Set(right))
}
