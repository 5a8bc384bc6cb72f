/** What a pod needs to get its devices on one node or another. */
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

/** A claim that has devices. */
export interface HeldClaim {
  readonly claim: ResourceClaim
  /** Where they are; undefined when they are everywhere. */
  readonly isOn: NodeTest | undefined
  /** They will never be ready. */
  readonly isHopeless: boolean
}

export interface PodNeeds {
  readonly pod: PodInfo
  readonly held: readonly HeldClaim[]
  readonly open: readonly PreparedClaim[]
  /** Resources by name that devices may stand behind, when there are any. */
  readonly resources: readonly string[]
  /** Was made for the resources in a pass that came to nothing; it has to go first. */
  readonly staleClaim: ResourceClaim | undefined
}

export interface DevicesWorld {
  readonly classOf: DeviceClassOf
  readonly find: (claims: readonly PreparedClaim[], node: NodeInfo) => Solution | undefined
  /** The claim for resources by name on one node. */
  readonly prepareExtended: (requests: ReturnType<typeof extendedRequests>['requests']) => PreparedClaim
  /** Whether a pool that the node could use makes no sense. */
  readonly hasInvalidPool: (node: NodeInfo) => boolean
}

/** What a pod would get on a node. */
export interface DevicesFound {
  /** In the order of the solution. */
  readonly claims: readonly PreparedClaim[]
  readonly solution: Solution
  /** For the claim that stands for resources by name, which comes last: which container gets what. */
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
  /** Claims whose devices were not where a node was. */
  readonly unavailable = new Set<ResourceClaim>()
  readonly #world: DevicesWorld
  readonly #scores = new Map<string, number>()

  constructor(needs: PodNeeds, world: DevicesWorld) {
    this.needs = needs
    this.#world = world
  }

  /** Some requests may be met in several ways. */
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

  /** Throws Error when claims or classes make no sense, or it would take too long to tell. */
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

  /** What the node does not have by itself is met by devices; undefined when it has all. */
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

/** More for what comes first among the alternatives, up to so many. */
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
