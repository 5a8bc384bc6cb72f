/** The device needs of a pod, evaluated for each node. */
import type { ContainerExtendedResourceRequest } from '#/api/generated/core/v1.ts'
import type { ResourceClaim } from '#/api/generated/resource/v1.ts'
import type { NodeTest } from '#/api/node-selector.ts'
import type { DeviceClassOf } from '../../device-classes.ts'
import type { Refusal } from '../../framework.ts'
import type { NodeInfo } from '../../node-info.ts'
import type { PodInfo } from '../../pod-info.ts'
import { extendedRequests } from './extended-resources.ts'
import type { PreparedClaim } from './prepare-claims.ts'
import { SearchTooLong, type Solution } from './search.ts'

/** An allocated claim. */
export interface HeldClaim {
  readonly claim: ResourceClaim
  /** Tests if its devices are available on a node; undefined if they are on all nodes. */
  readonly isOn: NodeTest | undefined
  /** True if the binding of its devices has failed or timed out. */
  readonly isHopeless: boolean
}

export interface PodNeeds {
  readonly pod: PodInfo
  readonly held: readonly HeldClaim[]
  readonly open: readonly PreparedClaim[]
  /** Extended resources that may be provided by devices. */
  readonly resources: readonly string[]
  /** Created for the extended resources in a failed scheduling attempt; it must be deleted first. */
  readonly staleClaim: ResourceClaim | undefined
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
export interface DevicesFound {
  /** In the order of the solution. */
  readonly claims: readonly PreparedClaim[]
  readonly solution: Solution
  /** Container mappings of the claim for extended resources, which is the last claim. */
  readonly mappings: readonly ContainerExtendedResourceRequest[] | undefined
}

const notThere: Refusal = { reason: 'resourceclaim not available on the node', isFinal: true }
const notEnough: Refusal = { reason: 'cannot allocate all claims', isFinal: true }
const invalidPools: Refusal = { reason: 'invalid resource pools were encountered', isFinal: true }
const noResource: Refusal = { reason: 'cannot fit resource', isFinal: true }
const stale: Refusal = { reason: 'cannot schedule extended resource claim', isFinal: true }

const nothing: DevicesFound = { claims: [], solution: { allotments: [], chosen: [] }, mappings: undefined }

export class PodDevices {
  readonly needs: PodNeeds
  /** Claims with devices that were unavailable on an examined node. */
  readonly unavailable = new Set<ResourceClaim>()
  readonly #world: DevicesWorld
  readonly #scores = new Map<string, number>()

  constructor(needs: PodNeeds, world: DevicesWorld) {
    this.needs = needs
    this.#world = world
  }

  /** True if a request has alternatives (firstAvailable). */
  get hasAlternatives(): boolean {
    return this.needs.open.some(({ requests }) => requests.some(alternatives => alternatives.length > 1))
  }

  test(node: NodeInfo): Refusal | undefined {
    const found = this.find(node)
    if ('reason' in found) return found
    if (this.hasAlternatives) this.#scores.set(node.name, scoreOf(found))
    return undefined
  }

  scoreOf(node: string): number {
    return this.#scores.get(node) ?? 0
  }

  /** Throws Error if claims or classes are invalid, or if the search takes too long. */
  find(node: NodeInfo): DevicesFound | Refusal {
    const { held, open } = this.needs
    const extended = this.#extended(node)
    if (extended !== undefined && 'reason' in extended) return extended
    let isThere = true
    for (const { claim, isOn, isHopeless } of held) {
      if ((isOn === undefined || isOn(node.node)) && !isHopeless) continue
      this.unavailable.add(claim)
      isThere = false
    }
    if (!isThere) return notThere
    const claims = extended === undefined ? open : [...open, extended.claim]
    if (claims.length === 0) return nothing
    const solution = this.#search(claims, node)
    if (solution !== undefined) return { claims, solution, mappings: extended?.mappings }
    return this.#world.hasInvalidPool(node) ? invalidPools : notEnough
  }

  #search(claims: readonly PreparedClaim[], node: NodeInfo): Solution | undefined {
    try {
      return this.#world.find(claims, node)
    } catch (error) {
      if (error instanceof SearchTooLong)
        throw new Error(`node ${node.name}: timed out trying to allocate devices`, { cause: error })
      throw error
    }
  }

  /** The claim for extended resources that the node itself does not have; undefined if it has all. */
  #extended({
    allocatable,
  }: NodeInfo):
    | { readonly claim: PreparedClaim; readonly mappings: readonly ContainerExtendedResourceRequest[] }
    | Refusal
    | undefined {
    const { resources, staleClaim, pod } = this.needs
    if (resources.length === 0) return undefined
    if (staleClaim !== undefined) return stale
    const missing = resources.filter(name => !allocatable.others.get(name))
    const byDevices = missing.filter(name => this.#world.classOf(name) !== undefined)
    if (missing.some(name => !allocatable.others.has(name) && !byDevices.includes(name))) return noResource
    if (byDevices.length === 0) return undefined
    const { requests, mappings } = extendedRequests(pod.pod, byDevices, this.#world.classOf)
    return { claim: this.#world.prepareExtended(requests), mappings }
  }
}

/** Maximum number of alternatives of a request; earlier ones score higher. */
const alternativesMax = 8

function scoreOf({ claims, solution }: DevicesFound): number {
  let score = 0
  claims.forEach(({ requests }, claim) => {
    requests.forEach((alternatives, request) => {
      const chosen = solution.chosen[claim]?.[request]
      if (chosen?.subrequest !== undefined) score += alternativesMax - alternatives.indexOf(chosen)
    })
  })
  return score
}
