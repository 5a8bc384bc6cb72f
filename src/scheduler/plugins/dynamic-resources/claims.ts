import type { AllocationResult, ResourceClaim } from '#/api/generated/resource/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import type { Informer } from '#/client/informer.ts'
import { AssumeCache } from '../assume-cache.ts'
import { AllocatedDevices } from './allocated-devices.ts'

/** The assume cache of claims, and the devices allocated to them. */
export class Claims {
  readonly allocated = new AllocatedDevices()
  readonly #assumed: AssumeCache<ResourceClaim>
  /** Keys of claims with an allocation in progress that is not written yet, by uid. */
  readonly #pending = new Map<string, string>()

  constructor(informer: Informer<ResourceClaim>) {
    this.#assumed = new AssumeCache(informer)
    informer.addEventHandler((key, { oldObject, newObject }) => {
      const uid = (newObject ?? oldObject).metadata.uid
      if (newObject === undefined) this.allocated.set(uid, undefined)
      else if (!this.#pending.has(uid) || newObject.status?.allocation) this.#showAgain(uid, key)
    })
  }

  get(key: string): Stored<ResourceClaim> | undefined {
    return this.#assumed.get(key)
  }

  isPending(uid: string): boolean {
    return this.#pending.has(uid)
  }

  /**
   * Starts an allocation: the devices count as allocated from now on. A claim still to be created has a
   * temporary uid.
   */
  begin(uid: string, key: string, allocation: AllocationResult): void {
    this.#pending.set(uid, key)
    this.allocated.set(uid, allocation)
  }

  /** Called after the write; the informer may not have seen it yet. */
  written(claim: Stored<ResourceClaim>): void {
    const uid = claim.metadata.uid
    this.#pending.delete(uid)
    this.#assumed.assume(claim)
    this.allocated.set(uid, claim.status?.allocation)
  }

  giveUp(uid: string): void {
    const key = this.#pending.get(uid)
    if (key === undefined) return
    this.#pending.delete(uid)
    this.#showAgain(uid, key)
  }

  #showAgain(uid: string, key: string): void {
    const claim = this.#assumed.get(key)
    this.allocated.set(uid, claim?.metadata.uid === uid ? claim.status?.allocation : undefined)
  }
}
