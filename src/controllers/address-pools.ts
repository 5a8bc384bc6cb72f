/**
 * Load balancers for clusters without a cloud provider: each service of type LoadBalancer gets an IP address
 * from a pool, of the flag or of the ConfigMap `kube-system/load-balancer-pools` (`address-pools/pools.ts`). The
 * service's status is the only record of its address, so restarts lose nothing; addresses that were allocated but are
 * not yet visible in the status are kept in memory. Announcing the address is the task of the nodes
 * (`network/load-balancer-announcer.ts`).
 */
import { allocatedFromPoolAnnotation, loadBalancerServices } from '#/api/core/load-balancers.ts'
import type { ConfigMap, Service } from '#/api/generated/core/v1.ts'
import { configMaps, services } from '#/api/generated/core/v1-resources.ts'
import { annotationOf, keyOf, type Stored } from '#/api/metadata.ts'
import type { Client } from '#/client/client.ts'
import type { EventRecorder } from '#/client/event-recorder.ts'
import type { Index } from '#/client/indexer.ts'
import { messageOf } from '#/base/message-of.ts'
import { isLost, planAddresses, type Holder } from './address-pools/plan.ts'
import { poolsConfigMap, readPools, type AddressPool } from './address-pools/pools.ts'
import { parseRange, type AddressRange } from './address-pools/ranges.ts'
import { sharingKeyOf } from './address-pools/sharing.ts'
import type { ControllerContext } from './controller.ts'
import type { EnsuredLoadBalancer, LoadBalancerFactory, LoadBalancer } from './shared/load-balancer.ts'

/**
 * Each range of the default pool is a CIDR, a `first-last` pair or a single address. Throws Error for any other
 * format.
 */
export function addressPools(defaultRanges: readonly string[]): LoadBalancerFactory {
  const parsed = defaultRanges.map(parseRange)
  return context => new AddressPools(parsed, context)
}

class AddressPools implements LoadBalancer {
  readonly #defaultRanges: readonly AddressRange[]
  readonly #servicesByAddress: Index<Stored<Service>>
  readonly #servicesBySharingKey: Index<Stored<Service>>
  /** Allocated addresses that the informer does not show in the service's status yet, by the service's uid. */
  readonly #allocated = new Map<string, Allocation>()
  /** The same by address. */
  readonly #allocatedByAddress = new Map<string, Set<Allocation>>()
  /** Keys of services that could not get an address. */
  readonly #waiting = new Set<string>()
  readonly #client: Client
  readonly #recorder: EventRecorder
  readonly #enqueue: ControllerContext['enqueue']
  readonly #allServices: () => readonly Service[]
  #pools: readonly AddressPool[]
  /** Version of the ConfigMap of the pools; empty without one. */
  #version = ''
  #loading: Promise<void> | undefined

  constructor(
    defaultRanges: readonly AddressRange[],
    { client, informer, enqueue, recorder }: ControllerContext,
  ) {
    const all = informer(services)
    this.#defaultRanges = defaultRanges
    this.#client = client
    this.#enqueue = enqueue
    this.#recorder = recorder
    this.#allServices = () => all.list()
    this.#pools = readPools(undefined, defaultRanges)
    this.#servicesByAddress = all.index('load-balancer-address', addressesOf)
    this.#servicesBySharingKey = all.index('sharing-key', service => {
      const key = sharingKeyOf(service)
      return key === undefined ? [] : [key]
    })
    all.addEventHandler((_key, { oldObject, newObject }) => {
      const has = newObject ? addressesOf(newObject) : []
      const uid = (newObject ?? oldObject)?.metadata.uid
      const isShown = this.#allocated.get(uid)?.addresses.every(address => has.includes(address))
      if (uid !== undefined && (newObject === undefined || isShown)) this.#forget(uid)
      const isSomeFree =
        oldObject !== undefined && addressesOf(oldObject).some(address => !has.includes(address))
      if (isSomeFree) this.#enqueueWaiting()
    })
    const { namespace, name } = poolsConfigMap
    const selection = { namespace, fieldSelector: `metadata.name=${name}` }
    informer(configMaps, selection).addEventHandler((_key, { newObject }) => this.#configure(newObject))
  }

  /** Undefined while there are no pools, so that other implementations can handle all services. */
  configuration(): string | undefined {
    return this.#pools.length === 0 ? undefined : this.#version
  }

  async getLoadBalancer(service: Stored<Service>): Promise<EnsuredLoadBalancer | undefined> {
    const addresses = this.#addressesOf(service)
    return addresses.length === 0 ? undefined : loadBalancerOf(addresses, poolOf(service) ?? '')
  }

  async ensureLoadBalancer(service: Stored<Service>): Promise<EnsuredLoadBalancer> {
    this.#loading ??= this.#loadAllocations()
    await this.#loading.catch((error: unknown) => {
      this.#loading = undefined
      throw error
    })
    const key = keyOf(service)
    const current = this.#addressesOf(service)
    const currentPool = this.#allocated.get(service.metadata.uid)?.pool ?? poolOf(service)
    const holdersOf = (address: string): readonly Holder[] => this.#holdersOf(address, service)
    const shareable = this.#shareable(service)
    const plan = planAddresses({ service, pools: this.#pools, current, currentPool, holdersOf, shareable })
    if (plan.problem !== undefined) {
      this.#waiting.add(key)
      const problem = `failed to allocate a load balancer IP for service ${key}: ${plan.problem}`
      const left = current.filter(address => !isLost(address, { service, holdersOf }))
      if (left.length === current.length) throw new Error(problem)
      this.#forget(service.metadata.uid)
      return { ...loadBalancerOf(left, currentPool ?? ''), problem }
    }
    const { addresses, pool, outside } = plan
    this.#waiting.delete(key)
    this.#remember({ service, addresses, pool })
    const added = addresses.filter(address => !current.includes(address))
    if (added.length > 0) {
      const message = `Assigned IP ${added.join(', ')} from address pool ${pool}`
      this.#recorder.record(service, { type: 'Normal', reason: 'IPAllocated', message })
    }
    if (outside.length > 0) {
      const message =
        `${outside.join(', ')} is not in an address pool any more: the service keeps it until it requests another ` +
        'address or pool'
      this.#recorder.record(service, { type: 'Warning', reason: 'AddressNotInPool', message })
    }
    return loadBalancerOf(addresses, pool)
  }

  async updateLoadBalancer(): Promise<void> {
    // The address does not depend on the set of nodes.
  }

  async ensureLoadBalancerDeleted(service: Stored<Service>): Promise<void> {
    this.#waiting.delete(keyOf(service))
    if (this.#forget(service.metadata.uid)) this.#enqueueWaiting()
  }

  /** An invalid configuration changes nothing. */
  #configure(configMap: Stored<ConfigMap> | undefined): void {
    try {
      this.#pools = readPools(configMap, this.#defaultRanges)
    } catch (error) {
      const message = `The address pools are unchanged: ${messageOf(error)}`
      if (configMap)
        this.#recorder.record(configMap, { type: 'Warning', reason: 'InvalidAddressPools', message })
      return
    }
    this.#version = configMap?.metadata.resourceVersion ?? ''
    for (const service of this.#allServices())
      if (service.spec?.type === 'LoadBalancer') this.#enqueue(keyOf(service))
  }

  /** Requeues the services that are waiting for an address, after one has been released. */
  #enqueueWaiting(): void {
    for (const key of this.#waiting) this.#enqueue(key)
  }

  /** Loads the allocations that a previous process wrote last and that the informer may not show yet. */
  async #loadAllocations(): Promise<void> {
    for (const service of (await this.#client.listAll(services, loadBalancerServices)).items) {
      const addresses = addressesOf(service)
      const { uid } = service.metadata
      const isShown = addresses.every(address => {
        return this.#servicesByAddress.get(address).some(({ metadata }) => metadata.uid === uid)
      })
      if (!isShown) this.#remember({ service, addresses, pool: poolOf(service) })
    }
  }

  #addressesOf(service: Stored<Service>): readonly string[] {
    return this.#allocated.get(service.metadata.uid)?.addresses ?? addressesOf(service)
  }

  #remember(allocation: Allocation): void {
    const { uid } = allocation.service.metadata
    this.#forget(uid)
    this.#allocated.set(uid, allocation)
    for (const address of allocation.addresses) {
      const known = this.#allocatedByAddress.get(address)
      if (known) known.add(allocation)
      else this.#allocatedByAddress.set(address, new Set([allocation]))
    }
  }

  /** True if the service had an allocation. */
  #forget(uid: string): boolean {
    const allocation = this.#allocated.get(uid)
    for (const address of allocation?.addresses ?? []) {
      const known = this.#allocatedByAddress.get(address)
      if (allocation && known?.delete(allocation) && known.size === 0)
        this.#allocatedByAddress.delete(address)
    }
    return this.#allocated.delete(uid)
  }

  #holdersOf(address: string, service: Stored<Service>): readonly Holder[] {
    const shown = this.#servicesByAddress.get(address)
    const allocated = [...(this.#allocatedByAddress.get(address) ?? [])].map(each => each.service)
    if (shown.length === 0 && allocated.length === 0) return []
    const { uid } = service.metadata
    const others = new Map([...shown, ...allocated].map(other => [other.metadata.uid, other]))
    others.delete(uid)
    return [...others.values()].map(other => ({
      key: keyOf(other),
      service: other,
      // An address that was allocated to another service is not taken from it before the status shows it.
      isOlder: isOlder(other, service) || allocated.some(each => each.metadata.uid === other.metadata.uid),
    }))
  }

  #shareable(service: Stored<Service>): readonly string[] {
    const key = sharingKeyOf(service)
    if (key === undefined) return []
    const sharing = this.#servicesBySharingKey.get(key).filter(({ metadata }) => {
      return metadata.uid !== service.metadata.uid
    })
    return [...new Set(sharing.flatMap(other => this.#addressesOf(other)))]
  }
}

interface Allocation {
  readonly service: Stored<Service>
  readonly addresses: readonly string[]
  readonly pool: string | undefined
}

function addressesOf({ status }: Service): readonly string[] {
  return (status?.loadBalancer?.ingress ?? []).flatMap(({ ip }) => ip ?? [])
}

function poolOf(service: Service): string | undefined {
  return annotationOf(service, allocatedFromPoolAnnotation)
}

function loadBalancerOf(addresses: readonly string[], pool: string): EnsuredLoadBalancer {
  return {
    status: { ingress: addresses.map(ip => ({ ip, ipMode: 'VIP' })) },
    annotations: { [allocatedFromPoolAnnotation]: pool },
  }
}

/** If two services have the same address (two processes may have allocated it), the older one keeps it. */
function isOlder(left: Service, right: Service): boolean {
  const ageOf = ({ metadata }: Service): string => `${metadata.creationTimestamp} ${metadata.uid}`
  return ageOf(left) < ageOf(right)
}
