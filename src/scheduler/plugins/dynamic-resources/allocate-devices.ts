/**
 * Searches devices for all requests of all claims of a pod on one node, by backtracking. The first solution
 * is taken. The order of devices within a request is irrelevant, so only combinations are tried.
 */
import { toleratesDeviceTaint } from '#/api/core/device-taints.ts'
import type { Device } from '#/api/generated/resource/v1.ts'
import type { Quantity } from '#/api/text/quantity.ts'
import type { ConsumedNanos, DevicesInUse } from './allocated-devices.ts'
import { takeCapacity } from './capacity.ts'
import { constraintOf, type Constraint } from './constraints.ts'
import { Counters } from './counters.ts'
import { candidatesOf, type Candidate, type Pool } from './pools.ts'
import type { Alternative, PreparedClaim } from './prepare-claims.ts'

export interface SearchWorld {
  readonly pools: readonly Pool[]
  readonly inUse: DevicesInUse
  /** True if a device matches the selectors and is usable on the node. */
  readonly isSelectable: (alternative: Alternative, candidate: Candidate) => boolean
}

/** A device allocated to a request. */
export interface DeviceAllocation {
  readonly alternative: Alternative
  readonly candidate: Candidate
  /** Consumed capacity of a device with multiple allocations. */
  readonly consumed: ReadonlyMap<string, Quantity> | undefined
}

export interface Solution {
  /** By claim. */
  readonly allocations: readonly (readonly DeviceAllocation[])[]
  /** The chosen alternative, by claim and request. */
  readonly chosen: readonly (readonly Alternative[])[]
}

/** Maximum number of devices of a claim. */
const devicesMax = 32

/** Maximum number of devices examined on a node, since backtracking is exponential in the worst case. */
const evaluatedDevicesMax = 500_000

/** The search exceeded its limit. */
export class AllocationTimeout extends Error {}

/** Undefined if there is no solution. Throws Error if the claims are invalid. */
export function allocateDevices(claims: readonly PreparedClaim[], world: SearchWorld): Solution | undefined {
  const search = new Search(claims, world)
  return search.request(0, 0) === 'found' ? search.solution : undefined
}

/** `too many`: earlier choices in the same claim cannot help, unless they need fewer devices. */
type Outcome = 'found' | 'none' | 'too many'

/** A request in the search, with the alternative that is tried for it. */
interface RequestPosition {
  readonly claim: number
  readonly request: number
  readonly alternative: Alternative
  /** The devices of allocation mode All, each of which is needed; undefined if any of the candidates will do. */
  readonly all: readonly Candidate[] | undefined
}

interface Sharing {
  uses: number
  readonly consumed: Map<string, bigint>
}

const nothing: ConsumedNanos = new Map()

class Search {
  readonly #claims: readonly PreparedClaim[]
  readonly #world: SearchWorld
  readonly #constraints: readonly (readonly Constraint[])[]
  readonly #candidates: readonly Candidate[]
  readonly #counters: Counters
  readonly #wanted = new Map<Alternative, readonly Candidate[]>()
  readonly #answers = new Map<Alternative, Map<Candidate, boolean>>()
  /** The claims that would use a device. */
  readonly #taken = new Map<string, Set<number>>()
  readonly #shared = new Map<string, Sharing>()
  readonly #allocations: DeviceAllocation[][]
  readonly #chosen: Alternative[][]
  #looks = 0

  constructor(claims: readonly PreparedClaim[], world: SearchWorld) {
    this.#claims = claims
    this.#world = world
    this.#allocations = claims.map(() => [])
    this.#chosen = claims.map(() => [])
    this.#counters = new Counters(world.inUse)
    this.#candidates = world.pools.filter(({ state }) => state === 'usable').flatMap(candidatesOf)
    this.#constraints = claims.map(constraintsOf)
    for (const { label, requests } of claims) this.#checkCounts(label, requests)
  }

  get solution(): Solution {
    return { allocations: this.#allocations, chosen: this.#chosen }
  }

  /** Satisfies this request and all later ones. */
  request(claim: number, request: number): Outcome {
    const prepared = this.#claims[claim]
    if (prepared === undefined) return 'found'
    const alternatives = prepared.requests[request]
    if (alternatives === undefined) {
      const rest = this.request(claim + 1, 0)
      return rest === 'too many' ? 'none' : rest
    }
    let outcome: Outcome = 'too many'
    for (const alternative of alternatives) {
      this.#chosen[claim]![request] = alternative
      const all = alternative.count === undefined ? this.#allFor(alternative) : undefined
      const tried = this.#place({ claim, request, alternative, all }, 0, 0)
      if (tried === 'found') return 'found'
      if (tried === 'none') outcome = 'none'
    }
    return outcome
  }

  /** Allocates the next device of a request, starting at this candidate. */
  #place(at: RequestPosition, placed: number, from: number): Outcome {
    const { claim, request, alternative, all } = at
    const count = all === undefined ? alternative.count! : all.length
    if (all?.length === 0) return 'none'
    if (placed >= count) return this.request(claim, request + 1)
    if (this.#allocations[claim]!.length + count - placed > devicesMax) return 'too many'
    if (all !== undefined) return this.#placeOne(at, placed, from)
    for (let index = from; index < this.#candidates.length; index++) {
      if (++this.#looks > evaluatedDevicesMax) throw new AllocationTimeout()
      const candidate = this.#candidates[index]!
      const isUsed = !alternative.adminAccess && this.#isInUse(candidate.id)
      if (isUsed || !this.#isSelectable(alternative, candidate)) continue
      const outcome = this.#placeOne(at, placed, index)
      if (outcome !== 'none') return outcome
    }
    return 'none'
  }

  /** Allocates the candidate with this index, and the following devices of the request. */
  #placeOne(at: RequestPosition, placed: number, index: number): Outcome {
    const release = this.#take(at, (at.all ?? this.#candidates)[index]!)
    if (release === undefined) return 'none'
    const outcome = this.#place(at, placed + 1, index + 1)
    if (outcome !== 'found') release()
    return outcome
  }

  /** Undefined if the device is not available; otherwise a function that releases it. */
  #take({ claim, alternative, all }: RequestPosition, candidate: Candidate): (() => void) | undefined {
    const { id, device } = candidate
    const isShareable = device.allowMultipleAllocations === true
    const isFree = alternative.adminAccess
      ? isShareable || !this.#taken.get(id)?.has(claim)
      : !this.#isInUse(id)
    if (!isFree || !areTaintsTolerated(device, alternative)) return undefined
    const sharing = this.#shared.get(id)
    const used = [this.#world.inUse.consumedOf(id), sharing?.consumed ?? nothing]
    const consumed = takeCapacity(device, alternative.capacity, used)
    if (consumed === undefined) return undefined
    // A further allocation of a shared device does not consume its counters again.
    const isNew = !isShareable || (!this.#world.inUse.isShared(id) && sharing === undefined)
    if (isNew && !this.#counters.take(candidate)) return undefined
    if (!this.#addToConstraints(claim, alternative, candidate)) {
      if (isNew) this.#counters.giveBack(candidate)
      if (all === undefined) return undefined
      const about = `claim ${this.#claims[claim]!.label}, request ${alternative.subrequest ?? alternative.request}`
      throw new Error(`${about}: cannot add device ${id} because a claim constraint would not be satisfied`)
    }
    if (isShareable) this.#share(id, consumed, 1)
    else this.#takenFor(id).add(claim)
    this.#allocations[claim]!.push({ alternative, candidate, consumed: isShareable ? consumed : undefined })
    return () => {
      this.#allocations[claim]!.pop()
      if (isShareable) this.#share(id, consumed, -1)
      else this.#takenFor(id).delete(claim)
      for (const constraint of this.#constraints[claim]!) constraint.remove(alternative)
      if (isNew) this.#counters.giveBack(candidate)
    }
  }

  /** Adds to all constraints or to none. */
  #addToConstraints(claim: number, alternative: Alternative, candidate: Candidate): boolean {
    const constraints = this.#constraints[claim]!
    const failed = constraints.findIndex(constraint => !constraint.add(alternative, candidate))
    if (failed < 0) return true
    for (const constraint of constraints.slice(0, failed)) constraint.remove(alternative)
    return false
  }

  #share(id: string, amounts: ReadonlyMap<string, Quantity>, sign: 1 | -1): void {
    const sharing = this.#shared.get(id) ?? { uses: 0, consumed: new Map<string, bigint>() }
    sharing.uses += sign
    for (const [name, { nanos }] of amounts)
      sharing.consumed.set(name, (sharing.consumed.get(name) ?? 0n) + BigInt(sign) * nanos)
    if (sharing.uses > 0) this.#shared.set(id, sharing)
    else this.#shared.delete(id)
  }

  #takenFor(id: string): Set<number> {
    const known = this.#taken.get(id)
    if (known !== undefined) return known
    const made = new Set<number>()
    this.#taken.set(id, made)
    return made
  }

  #isInUse(id: string): boolean {
    return this.#world.inUse.isTaken(id) || (this.#taken.get(id)?.size ?? 0) > 0
  }

  #isSelectable(alternative: Alternative, candidate: Candidate): boolean {
    let answers = this.#answers.get(alternative)
    if (answers === undefined) this.#answers.set(alternative, (answers = new Map()))
    const known = answers.get(candidate)
    if (known !== undefined) return known
    const answer = this.#world.isSelectable(alternative, candidate)
    answers.set(candidate, answer)
    return answer
  }

  /** The candidates of allocation mode All: all matching devices, including those in use. */
  #allFor(alternative: Alternative): readonly Candidate[] {
    const known = this.#wanted.get(alternative)
    if (known !== undefined) return known
    const wanted = this.#candidates.filter(candidate => {
      if (!this.#isSelectable(alternative, candidate)) return false
      const used = [this.#world.inUse.consumedOf(candidate.id)]
      return takeCapacity(candidate.device, alternative.capacity, used) !== undefined
    })
    this.#wanted.set(alternative, wanted)
    return wanted
  }

  /**
   * Checks that the minimum number of devices is allowed, and that all pools are complete if all devices are
   * requested.
   */
  #checkCounts(label: string, requests: PreparedClaim['requests']): void {
    let least = 0
    for (const alternatives of requests) {
      const counts = alternatives.map(alternative => {
        if (alternative.count !== undefined) return alternative.count
        this.#checkPools(label, alternative)
        return this.#allFor(alternative).length
      })
      least += Math.min(...counts)
    }
    if (least > devicesMax)
      throw new Error(
        `claim ${label}: number of requested devices ${least} exceeds the claim limit of ${devicesMax}`,
      )
  }

  #checkPools(label: string, { request, subrequest }: Alternative): void {
    for (const { id, state } of this.#world.pools) {
      if (state === 'usable') continue
      const what = state === 'incomplete' ? 'being updated' : 'invalid'
      const about = `claim ${label}, request ${subrequest ?? request}`
      throw new Error(`${about}: asks for all devices, but resource pool ${id} is currently ${what}`)
    }
  }
}

function constraintsOf({ claim, label }: PreparedClaim): readonly Constraint[] {
  return (claim.spec.devices?.constraints ?? []).map((constraint, index) => {
    const made = constraintOf(constraint)
    if (made === undefined)
      throw new Error(`claim ${label}, constraint #${index}: empty constraint (unsupported constraint type?)`)
    return made
  })
}

/** Other effects, including unknown ones, are ignored. */
const keepingAway: readonly string[] = ['NoSchedule', 'NoExecute']

function areTaintsTolerated({ taints = [] }: Device, { tolerations }: Alternative): boolean {
  return taints.every(taint => {
    if (!keepingAway.includes(taint.effect)) return true
    return tolerations.some(toleration => toleratesDeviceTaint(toleration, taint))
  })
}
