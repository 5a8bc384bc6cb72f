/**
 * Load balancers for clusters without a cloud provider: each service of type LoadBalancer gets an IP address
 * from a pool. The service's status is the only record of its address, so restarts lose nothing; addresses
 * that were allocated but are not yet visible in the status are kept in memory. Announcing the address on a
 * node is the service proxy's task.
 */
import type { LoadBalancerStatus, Service } from '#/api/generated/core/v1.ts'
import { services } from '#/api/generated/core/v1-resources.ts'
import { keyOf, type Stored } from '#/api/metadata.ts'
import type { Client } from '#/client/client.ts'
import type { Index } from '#/client/indexer.ts'
import { planAddresses } from './address-pool/plan.ts'
import { parseRange, type AddressRange } from './address-pool/ranges.ts'
import type { ControllerContext } from './controller.ts'
import type { LoadBalancerFactory, LoadBalancer } from './shared/load-balancer.ts'

/** Each range is a CIDR, a `first-last` pair or a single address. Throws Error for any other format. */
export function addressPool(ranges: readonly string[]): LoadBalancerFactory {
  const parsed = ranges.map(parseRange)
  return context => new AddressPool(parsed, context)
}

class AddressPool implements LoadBalancer {
  readonly #ranges: readonly AddressRange[]
  readonly #servicesByAddress: Index<Stored<Service>>
  /**
   * Allocated addresses that the informer does not show in the service's status yet, by the service's uid.
   */
  readonly #allocated = new Map<string, { readonly key: string; readonly addresses: readonly string[] }>()
  /** Keys of services that could not get an address. */
  readonly #waiting = new Set<string>()
  readonly #client: Client
  readonly #enqueue: ControllerContext['enqueue']
  #loading: Promise<void> | undefined

  constructor(ranges: readonly AddressRange[], { client, informer, enqueue }: ControllerContext) {
    const all = informer(services)
    this.#ranges = ranges
    this.#client = client
    this.#enqueue = enqueue
    this.#servicesByAddress = all.index('load-balancer-address', addressesOf)
    all.addEventHandler((_key, { oldObject, newObject }) => {
      const has = newObject ? addressesOf(newObject) : []
      const uid = (newObject ?? oldObject)?.metadata.uid
      const isShown = this.#allocated.get(uid)?.addresses.every(address => has.includes(address))
      if (newObject === undefined || isShown) this.#allocated.delete(uid)
      const isSomeFree =
        oldObject !== undefined && addressesOf(oldObject).some(address => !has.includes(address))
      if (isSomeFree) this.#enqueueWaiting()
    })
  }

  async getLoadBalancer(service: Stored<Service>): Promise<LoadBalancerStatus | undefined> {
    const addresses = this.#addressesOf(service)
    return addresses.length === 0 ? undefined : statusOf(addresses)
  }

  async ensureLoadBalancer(service: Stored<Service>): Promise<LoadBalancerStatus> {
    this.#loading ??= this.#loadAllocations()
    await this.#loading.catch((error: unknown) => {
      this.#loading = undefined
      throw error
    })
    const key = keyOf(service)
    const plan = planAddresses({
      service,
      ranges: this.#ranges,
      current: this.#addressesOf(service),
      allocatedTo: address => this.#allocatedTo(address, service, () => true),
      allocatedToOlder: address => this.#allocatedTo(address, service, other => isOlder(other, service)),
    })
    if (plan.problem !== undefined) {
      this.#waiting.add(key)
      throw new Error(`failed to allocate a load balancer IP for service ${key}: ${plan.problem}`)
    }
    this.#waiting.delete(key)
    this.#allocated.set(service.metadata.uid, { key, addresses: plan.addresses })
    return statusOf(plan.addresses)
  }

  async updateLoadBalancer(): Promise<void> {
    // The address does not depend on the set of nodes.
  }

  async ensureLoadBalancerDeleted(service: Stored<Service>): Promise<void> {
    this.#waiting.delete(keyOf(service))
    if (this.#allocated.delete(service.metadata.uid)) this.#enqueueWaiting()
  }

  /** Requeues the services that are waiting for an address, after one has been released. */
  #enqueueWaiting(): void {
    for (const key of this.#waiting) this.#enqueue(key)
  }

  /** Loads the allocations that a previous process wrote last and that the informer may not show yet. */
  async #loadAllocations(): Promise<void> {
    for (const service of (await this.#client.listAll(services)).items) {
      const addresses = addressesOf(service)
      const { uid } = service.metadata
      const isShown = addresses.every(address => {
        return this.#servicesByAddress.get(address).some(({ metadata }) => metadata.uid === uid)
      })
      if (!isShown) this.#allocated.set(uid, { key: keyOf(service), addresses })
    }
  }

  #addressesOf(service: Stored<Service>): readonly string[] {
    return this.#allocated.get(service.metadata.uid)?.addresses ?? addressesOf(service)
  }

  #allocatedTo(address: string, service: Service, counts: (other: Service) => boolean): string | undefined {
    const uid = service.metadata.uid
    const shown = this.#servicesByAddress
      .get(address)
      .find(other => other.metadata.uid !== uid && counts(other))
    if (shown !== undefined) return keyOf(shown)
    for (const [other, { key, addresses }] of this.#allocated) {
      if (other !== uid && addresses.includes(address)) return key
    }
    return undefined
  }
}

function addressesOf({ status }: Service): readonly string[] {
  return (status?.loadBalancer?.ingress ?? []).flatMap(({ ip }) => ip ?? [])
}

function statusOf(addresses: readonly string[]): LoadBalancerStatus {
  return { ingress: addresses.map(ip => ({ ip, ipMode: 'VIP' })) }
}

/** If two services have the same address (two processes may have allocated it), the older one keeps it. */
function isOlder(left: Service, right: Service): boolean {
  const ageOf = ({ metadata }: Service): string => `${metadata.creationTimestamp} ${metadata.uid}`
  return ageOf(left) < ageOf(right)
}
