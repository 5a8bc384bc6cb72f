/** Reserves devices in memory from reserve until preBind has written the allocations to the claims. */
import type { ContainerExtendedResourceRequest } from '#/api/generated/core/v1.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import type { AllocationResult, ResourceClaim } from '#/api/generated/resource/v1.ts'
import { resourceClaims } from '#/api/generated/resource/v1-resources.ts'
import { keyOf } from '#/api/metadata.ts'
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
  /** The last written version. */
  claim: ResourceClaim
  /** The allocation to write; undefined if the claim is already allocated. */
  readonly allocation: AllocationResult | undefined
  /** Uid under which the devices are in use until the allocation is written. */
  readonly pendingUid: string
  /** Set for a claim still to be created for extended resources: its container mappings. */
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
    for (const { claim, allocation } of reservations)
      if (allocation !== undefined) this.#allocator.claims.begin(claim, allocation)
    this.#reserved.set(cycleState, reservations)
    return undefined
  }

  /** Written reservations are reverted asynchronously. */
  unreserve(pod: PodInfo, cycleState: CycleState): void {
    const { client, platform } = this.#handle
    for (const reservation of this.#reserved.get(cycleState) ?? []) {
      const { claim, mappings, pendingUid, isWritten } = reservation
      this.#allocator.claims.giveUp(pendingUid)
      const isMade = mappings !== undefined && claim.metadata.name !== undefined
      if (!isWritten && !isMade) continue
      const undone = isMade ? deleteClaim(claim, client) : unreserveFor(pod, claim, client)
      void undone.catch((error: unknown) => {
        platform.log.warn('Failed to unreserve ResourceClaim', { pod: pod.key, claim: keyOf(claim), error })
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
    for (const reservation of reservations) {
      if (!isReservedFor(reservation.claim, pod.pod)) await this.#writeOne(pod, reservation, work)
    }
    if (!reservations.some(({ claim }) => hasConditions(claim))) return
    const { informer, timeoutMs } = this.#allocator
    const areReady = (): boolean =>
      reservations.every(({ claim }) => isReady(informer.get(keyOf(claim)) ?? claim))
    await this.#waits.until(pod, areReady, { informers: [informer], timeoutMs, signal })
  }

  async #writeOne(pod: PodInfo, reservation: Reservation, work: ClaimWork): Promise<void> {
    const { allocation, mappings, pendingUid } = reservation
    const { claims } = this.#allocator
    if (mappings !== undefined) reservation.claim = await create(reservation.claim, work)
    reservation.claim = await reserveFor(pod, reservation.claim, allocation, work)
    reservation.isWritten = true
    claims.written(reservation.claim)
    claims.giveUp(pendingUid)
    if (mappings === undefined) return
    const { namespace, pod: object } = pod
    const extendedResourceClaimStatus = {
      requestMappings: mappings,
      resourceClaimName: reservation.claim.metadata.name ?? '',
    }
    await work.client.patch(
      pods,
      { namespace, name: object.metadata.name ?? '', subresource: 'status' },
      { type: 'strategic', patch: { status: { extendedResourceClaimStatus } } },
      { signal: work.signal },
    )
  }

  /** The found allocations as reservations. A claim still to be created has a temporary uid. */
  #granted({ claims, solution, mappings }: NodeAllocation, node: string): readonly Reservation[] {
    const { random } = this.#handle.platform
    const shareId = (): string => random.uuid('share of a device')
    return claims.map(({ claim }, index) => {
      const found = { allocations: solution.allocations[index]!, chosen: solution.chosen[index]! }
      const allocation = allocationOf(claim, found, { node, shareId })
      if (claim.metadata.name !== undefined)
        return {
          claim,
          allocation,
          pendingUid: claim.metadata.uid ?? '',
          mappings: undefined,
          isWritten: false,
        }
      const uid = random.uuid('claim for extended resources')
      const made = { ...claim, metadata: { ...claim.metadata, uid } }
      return { claim: made, allocation, pendingUid: uid, mappings, isWritten: false }
    })
  }
}

function held({ needs }: PodDevices): readonly Reservation[] {
  return needs.allocatedClaims.map(({ claim }) => {
    return { claim, allocation: undefined, pendingUid: '', mappings: undefined, isWritten: false }
  })
}

async function create(claim: ResourceClaim, { client, signal }: ClaimWork): Promise<ResourceClaim> {
  const { uid: _, ...metadata } = claim.metadata
  return client.create(resourceClaims, { ...claim, metadata }, { signal })
}
