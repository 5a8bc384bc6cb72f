import type { AllocationResult } from '#/api/generated/resource/v1.ts'
import { tryParseQuantity } from '#/api/text/quantity.ts'

/** Unique ID of a device; names of drivers and devices contain no slash. */
export function deviceIdOf(driver: string, pool: string, device: string): string {
  return `${driver}/${pool}/${device}`
}

/** Consumed capacity of a device, in billionths. */
export type ConsumedNanos = ReadonlyMap<string, bigint>

/** The allocations of devices. */
export interface DevicesInUse {
  /** True if it is allocated exclusively. */
  readonly isTaken: (id: string) => boolean
  /** True if it has shared allocations. */
  readonly isShared: (id: string) => boolean
  readonly consumedOf: (id: string) => ConsumedNanos
}

interface Sharing {
  uses: number
  readonly consumed: Map<string, bigint>
}

const nothing: ConsumedNanos = new Map()

/** The devices allocated to claims, updated incrementally. */
export class AllocatedDevices implements DevicesInUse {
  readonly #byClaim = new Map<string, AllocationResult>()
  /** Number of exclusive allocations: one, unless the claims are inconsistent. */
  readonly #taken = new Map<string, number>()
  readonly #shared = new Map<string, Sharing>()

  readonly isTaken = (id: string): boolean => this.#taken.has(id)

  readonly isShared = (id: string): boolean => this.#shared.has(id)

  readonly consumedOf = (id: string): ConsumedNanos => this.#shared.get(id)?.consumed ?? nothing

  /** Sets the allocation of the claim with this uid. */
  set(uid: string, allocation: AllocationResult | undefined): void {
    const before = this.#byClaim.get(uid)
    if (before === allocation) return
    if (before !== undefined) this.#count(before, -1)
    if (allocation === undefined) {
      this.#byClaim.delete(uid)
    } else {
      this.#byClaim.set(uid, allocation)
      this.#count(allocation, 1)
    }
  }

  #count({ devices }: AllocationResult, sign: 1 | -1): void {
    for (const result of devices?.results ?? []) {
      const { driver, pool, device, adminAccess, shareID, consumedCapacity } = result
      // Admin access does not make a device unavailable.
      if (adminAccess) continue
      const id = deviceIdOf(driver, pool, device)
      if (shareID !== undefined) this.#countShared(id, consumedCapacity ?? {}, sign)
      else {
        const count = (this.#taken.get(id) ?? 0) + sign
        if (count > 0) this.#taken.set(id, count)
        else this.#taken.delete(id)
      }
    }
  }

  #countShared(id: string, amounts: Readonly<Record<string, string>>, sign: 1 | -1): void {
    const sharing = this.#shared.get(id) ?? { uses: 0, consumed: new Map<string, bigint>() }
    sharing.uses += sign
    for (const [name, text] of Object.entries(amounts)) {
      const nanos = tryParseQuantity(text)?.nanos ?? 0n
      sharing.consumed.set(name, (sharing.consumed.get(name) ?? 0n) + BigInt(sign) * nanos)
    }
    if (sharing.uses > 0) this.#shared.set(id, sharing)
    else this.#shared.delete(id)
  }
}
