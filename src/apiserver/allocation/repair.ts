/**
 * Repairs inconsistent allocations after a crash between two writes or a direct write to the store: releases
 * addresses and ports of services that do not use them, and allocates those that services use. Runs at
 * startup and periodically. Safe with several API servers, because every write has a revision precondition.
 */
import type { Service } from '#/api/generated/core/v1.ts'
import type { IPAddress } from '#/api/generated/networking/v1.ts'
import { services } from '#/api/generated/core/v1-resources.ts'
import { ipAddresses } from '#/api/generated/networking/v1-resources.ts'
import { formatIp, parseIp } from '#/api/net/ip.ts'
import type { Resource } from '#/api/resource.ts'
import { parseTime } from '#/api/text/time.ts'
import type { Stored } from '#/api/metadata.ts'
import type { Registry } from '../registry/registry.ts'
import { keyOf, prefixOf } from '../registry/store-keys.ts'
import type { StoredObject } from '../registry/stored-object.ts'
import { removeObject } from '../registry/update-object.ts'
import { portsOf, repairPorts } from './node-ports.ts'
import { reserveClusterIp, isManagedByAllocator } from './cluster-ips.ts'
import { clusterIpsOf } from './service-hooks.ts'

const repairMs = 180_000

/** Grace period for new addresses: an address is allocated before its service is stored. */
const graceMs = 60_000

/** Maximum number of addresses repaired per run. */
const addressesMax = 1_000

/**
 * An unused port may belong to a service being created; it is released after this many consecutive sightings.
 */
const sightingsMin = 3

export class AllocationRepair {
  readonly #registry: Registry
  /** Number of consecutive runs in which each port was allocated but unused. */
  #sightings: ReadonlyMap<number, number> = new Map()

  constructor(registry: Registry) {
    this.#registry = registry
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#registry.platform
    while (!signal.aborted) {
      try {
        await this.step(signal)
        await clock.sleep(repairMs, signal)
      } catch (error) {
        if (signal.aborted) return
        this.#registry.metrics?.server.repairErrors.clusterIp.add()
        log.warn('unable to repair cluster IP and node port allocations', { error })
        await clock.sleep(repairMs, signal).catch(() => undefined)
      }
    }
  }

  async step(signal: AbortSignal): Promise<void> {
    const { cache } = this.#registry
    await cache.waitForLatest(signal)
    const all = [...cache.list(prefixOf(services as Resource, ''))].map(
      ({ object }) => object as Stored<Service>,
    )
    await this.#repairAddresses(all, signal)
    await this.#repairPorts(all)
  }

  async #repairAddresses(all: readonly Stored<Service>[], signal: AbortSignal): Promise<void> {
    const { cache, platform } = this.#registry
    const leaked = [...cache.list(prefixOf(ipAddresses as Resource, ''))].filter(stored =>
      this.#isLeaked(stored),
    )
    const { server } = this.#registry.metrics ?? {}
    server?.recordRepair('clusterIp', 'leak', leaked.length)
    for (const stored of leaked.slice(0, addressesMax)) {
      signal.throwIfAborted()
      const { metadata, spec } = stored.object as Stored<IPAddress>
      const { namespace, name } = spec?.parentRef ?? {}
      platform.log.warn('cluster IP is not allocated to a Service; cleaning up', {
        address: metadata.name,
        service: `${namespace}/${name}`,
      })
      await removeObject(this.#registry, { resource: ipAddresses }, stored)
    }
    const unheld = all.flatMap(service =>
      this.#unheldAddresses(service).map(address => ({ service, address })),
    )
    for (const { service, address } of unheld.slice(0, addressesMax)) {
      signal.throwIfAborted()
      const { namespace = '', name } = service.metadata
      const isHeld = await reserveClusterIp(this.#registry, { namespace, name }, address)
      server?.recordRepair('clusterIp', isHeld ? 'repair' : 'duplicate', 1)
      const text = isHeld
        ? 'cluster IP was not allocated; repairing'
        : 'cluster IP is assigned to multiple services'
      platform.log.warn(text, { address, service: `${namespace}/${name}` })
    }
  }

  #isLeaked({ object }: StoredObject): boolean {
    const { cache, platform } = this.#registry
    const address = object as Stored<IPAddress>
    if (!isManagedByAllocator(address)) return false
    const createdMs = parseTime(address.metadata.creationTimestamp) ?? 0
    if (platform.clock.now() - createdMs < graceMs) return false
    const parent = address.spec?.parentRef
    if (parent === undefined || parent.group || parent.resource !== 'services') return true
    const service = cache.get(keyOf(services, parent.namespace ?? '', parent.name))?.object as
      | Stored<Service>
      | undefined
    return !service || !clusterIpsOf(service).map(canonical).includes(address.metadata.name)
  }

  #unheldAddresses(service: Service): readonly string[] {
    const isUnheld = (address: string): boolean => {
      return this.#registry.cache.get(keyOf(ipAddresses, '', address)) === undefined
    }
    return clusterIpsOf(service).map(canonical).filter(isUnheld)
  }

  async #repairPorts(all: readonly Stored<Service>[]): Promise<void> {
    const inUse = new Set(all.flatMap(portsOf))
    const leaked = new Set(
      [...this.#sightings].filter(([, count]) => count >= sightingsMin - 1).map(([port]) => port),
    )
    this.#registry.metrics?.server.recordRepair('nodePort', 'leak', leaked.size)
    const held = await repairPorts(this.#registry, { inUse, leaked })
    this.#sightings = new Map(held.map(port => [port, (this.#sightings.get(port) ?? 0) + 1]))
  }
}

function canonical(address: string): string {
  const ip = parseIp(address)
  return ip === undefined ? address : formatIp(ip)
}
