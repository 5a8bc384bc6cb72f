/** The device needs of a pod, evaluated for each node. */
import type { ContainerExtendedResourceRequest } from '#/api/generated/core/v1.ts'
import type { ResourceClaim } from '#/api/generated/resource/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import type { NodeTest } from '#/api/selectors/node-selector.ts'
import type { DeviceClassOf } from '../../device-classes.ts'
import type { Unschedulable } from '../../framework.ts'
import type { NodeInfo } from '../../node-info.ts'
import type { PodInfo } from '../../pod-info.ts'
import { extendedRequests } from './extended-resources.ts'
import type { PreparedClaim } from './prepare-claims.ts'
import { AllocationTimeout, type Solution } from './allocate-devices.ts'

/** An allocated claim. */
export interface AllocatedClaim {
  readonly claim: Stored<ResourceClaim>
  /** Tests if its devices are available on a node; undefined if they are on all nodes. */
  readonly isOn: NodeTest | undefined
  /** True if the binding of its devices has failed or timed out. */
  readonly isBindingFailed: boolean
}

export interface PodNeeds {
  readonly pod: PodInfo
  readonly allocatedClaims: readonly AllocatedClaim[]
  readonly claimsToAllocate: readonly PreparedClaim[]
  /** Extended resources that may be provided by devices. */
  readonly resources: readonly string[]
  /** Created for the extended resources in a failed scheduling attempt; it must be deleted first. */
  readonly staleClaim: Stored<ResourceClaim> | undefined
}

export interface DevicesWorld {
  readonly classOf: DeviceClassOf
  readonly find: (claims: readonly PreparedClaim[], node: NodeInfo) => Solution | undefined
  /** Prepares the claim for extended resources on one node. */
  readonly prepareExtended: (requests: ReturnType<typeof extendedRequests>['requests']) => PreparedClaim
  /** True if a pool usable by the node is invalid. */
  readonly hasInvalidPool: (node: NodeInfo) => boolean
}

/** The allocation for a pod on a node. */
export interface NodeAllocation {
  /** In the order of the solution. */
  readonly claims: readonly PreparedClaim[]
  readonly solution: Solution
  /** Container mappings of the claim for extended resources, which is the last claim. */
  readonly mappings: readonly ContainerExtendedResourceRequest[] | undefined
}

const notThere: Unschedulable = { reason: 'resourceclaim not available on the node', isUnresolvable: true }
const notEnough: Unschedulable = { reason: 'cannot allocate all claims', isUnresolvable: true }
const invalidPools: Unschedulable = {
  reason: 'invalid resource pools were encountered',
  isUnresolvable: true,
}
const noResource: Unschedulable = { reason: 'cannot fit resource', isUnresolvable: true }
const stale: Unschedulable = { reason: 'cannot schedule extended resource claim', isUnresolvable: true }

const nothing: NodeAllocation = { claims: [], solution: { allocations: [], chosen: [] }, mappings: undefined }

export class PodDevices {
  readonly needs: PodNeeds
  /** Claims with devices that were unavailable on an examined node. */
  readonly unavailable = new Set<Stored<ResourceClaim>>()
  readonly #world: DevicesWorld
  readonly #scores = new Map<string, number>()

  constructor(needs: PodNeeds, world: DevicesWorld) {
    this.needs = needs
    this.#world = world
  }

  /** True if a request has alternatives (firstAvailable). */
  get hasAlternatives(): boolean {
    return this.needs.claimsToAllocate.some(({ requests }) =>
      requests.some(alternatives => alternatives.length > 1),
    )
  }

  filter(node: NodeInfo): Unschedulable | undefined {
    const found = this.find(node)
    if ('reason' in found) return found
    if (this.hasAlternatives) this.#scores.set(node.name, scoreOf(found))
    return undefined
  }

  scoreOf(node: string): number {
    return this.#scores.get(node) ?? 0
  }

  /** Throws Error if claims or classes are invalid, or if the search takes too long. */
  find(node: NodeInfo): NodeAllocation | Unschedulable {
    const { allocatedClaims, claimsToAllocate } = this.needs
    const extended = this.#extended(node)
    if (extended !== undefined && 'reason' in extended) return extended
    let isThere = true
    for (const { claim, isOn, isBindingFailed } of allocatedClaims) {
      if ((isOn === undefined || isOn(node.node)) && !isBindingFailed) continue
      this.unavailable.add(claim)
      isThere = false
    }
    if (!isThere) return notThere
    const claims = extended === undefined ? claimsToAllocate : [...claimsToAllocate, extended.claim]
    if (claims.length === 0) return nothing
    const solution = this.#search(claims, node)
    if (solution !== undefined) return { claims, solution, mappings: extended?.mappings }
    return this.#world.hasInvalidPool(node) ? invalidPools : notEnough
  }

  #search(claims: readonly PreparedClaim[], node: NodeInfo): Solution | undefined {
    try {
      return this.#world.find(claims, node)
    } catch (error) {
      if (error instanceof AllocationTimeout)
        throw new Error(`node ${node.name}: timed out trying to allocate devices`, { cause: error })
      throw error
    }
  }

  /** The claim for extended resources that the node itself does not have; undefined if it has all. */
  #extended({
    allocatable,
  }: NodeInfo):
    | { readonly claim: PreparedClaim; readonly mappings: readonly ContainerExtendedResourceRequest[] }
    | Unschedulable
    | undefined {
    const { resources, staleClaim, pod } = this.needs
    if (resources.length === 0) return undefined
    if (staleClaim !== undefined) return stale
    const missing = resources.filter(name => !allocatable.scalarResources.get(name))
    const byDevices = missing.filter(name => this.#world.classOf(name) !== undefined)
    if (missing.some(name => !allocatable.scalarResources.has(name) && !byDevices.includes(name)))
      return noResource
    if (byDevices.length === 0) return undefined
    const { requests, mappings } = extendedRequests(pod.pod, byDevices, this.#world.classOf)
    return { claim: this.#world.prepareExtended(requests), mappings }
  }
}

/** Maximum number of alternatives of a request; earlier ones score higher. */
const alternativesMax = 8

function scoreOf({ claims, solution }: NodeAllocation): number {
  let score = 0
  claims.forEach(({ requests }, claim) => {
    requests.forEach((alternatives, request) => {
      const chosen = solution.chosen[claim]?.[request]
      if (chosen?.subrequest !== undefined) score += alternativesMax - alternatives.indexOf(chosen)
    })
  })
  return score
}
