/** Reserves devices in memory from reserve until preBind has written the allocations to the claims. */
import type { ContainerExtendedResourceRequest } from '#/api/generated/core/v1.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import type { AllocationResult, ResourceClaim } from '#/api/generated/resource/v1.ts'
import { resourceClaims } from '#/api/generated/resource/v1-resources.ts'
import { keyOf, type Stored } from '#/api/metadata.ts'
import { isReservedFor } from '#/api/core/pod-resource-claims.ts'
import type { BindWork, CycleState, PluginHandle, Unschedulable } from '../../framework.ts'
import type { PodInfo } from '../../pod-info.ts'
import { BindingWaits } from '../binding-waits.ts'
import { allocationOf } from './allocation.ts'
import { hasConditions, isReady } from './binding-conditions.ts'
import type { DeviceAllocator } from './device-allocator.ts'
import type { NodeAllocation, PodDevices } from './pod-devices.ts'
import { deleteClaim, reserveFor, unreserveFor, type ClaimWork } from './write-claim.ts'

interface Reservation {
  readonly claim: ResourceClaim
  /** The last written version; undefined for a claim still to be created. */
  stored: Stored<ResourceClaim> | undefined
  /** The allocation to write; undefined if the claim is already allocated. */
  readonly allocation: AllocationResult | undefined
  /** Uid under which the devices are in use until the allocation is written; temporary without `stored`. */
  readonly pendingUid: string
  /** Set for the claim created for extended resources: its container mappings. */
  readonly mappings: readonly ContainerExtendedResourceRequest[] | undefined
  isWritten: boolean
}

const nodeIsGone: Unschedulable = { reason: 'resourceclaim not available on the node' }

export class DeviceReservations {
  readonly #handle: PluginHandle
  readonly #allocator: DeviceAllocator
  readonly #waits: BindingWaits
  readonly #reserved = new WeakMap<CycleState, readonly Reservation[]>()

  constructor(handle: PluginHandle, allocator: DeviceAllocator) {
    this.#handle = handle
    this.#allocator = allocator
    this.#waits = new BindingWaits(handle.platform.clock, handle.informer(pods))
  }

  /** Searches devices again, since other pods may have reserved some meanwhile, and reserves them. */
  reserve(pod: PodInfo, name: string, cycleState: CycleState): Unschedulable | undefined {
    const devices = this.#allocator.devicesFor(pod)
    if (devices === undefined || 'reason' in devices) return devices
    const node = this.#handle.snapshot().get(name)
    if (node === undefined) return nodeIsGone
    const found = devices.find(node)
    if ('reason' in found) return found
    const reservations = [...held(devices), ...this.#granted(found, name)]
    for (const { claim, allocation, pendingUid } of reservations)
      if (allocation !== undefined) this.#allocator.claims.begin(pendingUid, keyOf(claim), allocation)
    this.#reserved.set(cycleState, reservations)
    return undefined
  }

  /** Written reservations are reverted asynchronously. */
  unreserve(pod: PodInfo, cycleState: CycleState): void {
    const { client, platform } = this.#handle
    for (const reservation of this.#reserved.get(cycleState) ?? []) {
      const { stored, mappings, pendingUid, isWritten } = reservation
      this.#allocator.claims.giveUp(pendingUid)
      const isMade = mappings !== undefined
      if (stored === undefined || (!isWritten && !isMade)) continue
      const undone = isMade ? deleteClaim(stored, client) : unreserveFor(pod, stored, client)
      void undone.catch((error: unknown) => {
        platform.log.warn('Failed to unreserve ResourceClaim', { pod: pod.key, claim: keyOf(stored), error })
      })
    }
    this.#reserved.delete(cycleState)
  }

  bind(pod: PodInfo, work: BindWork): Promise<void> | undefined {
    const reservations = this.#reserved.get(work.cycleState)
    return reservations === undefined || reservations.length === 0
      ? undefined
      : this.#write(pod, reservations, work)
  }

  async #write(pod: PodInfo, reservations: readonly Reservation[], bindWork: BindWork): Promise<void> {
    const { client, signal } = bindWork
    const work = { client, signal, nowMs: this.#handle.platform.clock.now() }
    const written: Stored<ResourceClaim>[] = []
    for (const reservation of reservations) {
      const { stored } = reservation
      const isReserved = stored !== undefined && isReservedFor(stored, pod.pod)
      written.push(isReserved ? stored : await this.#writeOne(pod, reservation, work))
    }
    if (!written.some(hasConditions)) return
    const { informer, timeoutMs } = this.#allocator
    const areReady = (): boolean => written.every(claim => isReady(informer.get(keyOf(claim)) ?? claim))
    await this.#waits.until(pod, areReady, { informers: [informer], timeoutMs, signal })
  }

  async #create(claim: ResourceClaim, { client, signal }: ClaimWork): Promise<Stored<ResourceClaim>> {
    const { metrics } = this.#handle
    try {
      const created = await client.create(resourceClaims, claim, { signal })
      metrics.resourceClaimCreated('success')
      return created
    } catch (error) {
      metrics.resourceClaimCreated('failure')
      throw error
    }
  }

  async #writeOne(pod: PodInfo, reservation: Reservation, work: ClaimWork): Promise<Stored<ResourceClaim>> {
    const { claim, allocation, mappings, pendingUid } = reservation
    const { client, signal } = work
    const { claims } = this.#allocator
    reservation.stored ??= await this.#create(claim, work)
    const written = await reserveFor(pod, { claim: reservation.stored, allocation }, work)
    reservation.stored = written
    reservation.isWritten = true
    claims.written(written)
    claims.giveUp(pendingUid)
    if (mappings === undefined) return written
    const { namespace, pod: object } = pod
    const extendedResourceClaimStatus = {
      requestMappings: mappings,
      resourceClaimName: written.metadata.name,
    }
    await client.patch(
      pods,
      { namespace, name: object.metadata.name, subresource: 'status' },
      { type: 'strategic', patch: { status: { extendedResourceClaimStatus } } },
      { signal },
    )
    return written
  }

  /** The found allocations as reservations. */
  #granted({ claims, solution, mappings }: NodeAllocation, node: string): readonly Reservation[] {
    const { random } = this.#handle.platform
    const shareId = (): string => random.uuid('share of a device')
    return claims.map(({ claim }, index) => {
      const found = { allocations: solution.allocations[index]!, chosen: solution.chosen[index]! }
      const allocation = allocationOf(claim, found, { node, shareId })
      return isStored(claim)
        ? {
            claim,
            stored: claim,
            allocation,
            pendingUid: claim.metadata.uid,
            mappings: undefined,
            isWritten: false,
          }
        : {
            claim,
            stored: undefined,
            allocation,
            pendingUid: random.uuid('claim for extended resources'),
            mappings,
            isWritten: false,
          }
    })
  }
}

function held({ needs }: PodDevices): readonly Reservation[] {
  return needs.allocatedClaims.map(({ claim }) => {
    return {
      claim,
      stored: claim,
      allocation: undefined,
      pendingUid: '',
      mappings: undefined,
      isWritten: false,
    }
  })
}

/** False for a claim for extended resources, which is created by preBind. */
function isStored(claim: ResourceClaim): claim is Stored<ResourceClaim> {
  return claim.metadata.uid !== undefined
}
