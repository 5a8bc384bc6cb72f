import { tryParseQuantity } from '#/api/text/quantity.ts'
import { deviceIdOf, type DevicesInUse } from './allocated-devices.ts'
import type { Candidate, Pool } from './pools.ts'

/**
 * The remaining shared counters of a pool: each allocated device consumes a part of them.
 * https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#partitionable-devices
 */
export class Counters {
  readonly #inUse: DevicesInUse
  /** By pool, then by counter set and counter, in billionths. */
  readonly #left = new Map<Pool, Map<string, bigint>>()

  constructor(inUse: DevicesInUse) {
    this.#inUse = inUse
  }

  /** Consumes the counters of a device; returns false, without consuming any, if one is insufficient. */
  take(candidate: Candidate): boolean {
    const left = this.#leftIn(candidate.pool)
    const amounts = consumedBy(candidate.device)
    if (amounts.some(([counter, nanos]) => (left.get(counter) ?? 0n) < nanos)) return false
    for (const [counter, nanos] of amounts) left.set(counter, (left.get(counter) ?? 0n) - nanos)
    return true
  }

  giveBack({ pool, device }: Candidate): void {
    const left = this.#leftIn(pool)
    for (const [counter, nanos] of consumedBy(device)) left.set(counter, (left.get(counter) ?? 0n) + nanos)
  }

  #leftIn(pool: Pool): Map<string, bigint> {
    const known = this.#left.get(pool)
    if (known !== undefined) return known
    const left = new Map<string, bigint>()
    for (const { name: set, counters } of pool.counterSets.values()) {
      for (const [name, { value }] of Object.entries(counters)) left.set(`${set}/${name}`, nanosOf(value))
    }
    for (const { spec } of pool.all) {
      for (const device of spec.devices ?? []) {
        const id = deviceIdOf(pool.driver, pool.name, device.name)
        if (!this.#inUse.isTaken(id) && !this.#inUse.isShared(id)) continue
        for (const [counter, nanos] of consumedBy(device))
          left.set(counter, (left.get(counter) ?? 0n) - nanos)
      }
    }
    this.#left.set(pool, left)
    return left
  }
}

function consumedBy({ consumesCounters = [] }: Candidate['device']): readonly (readonly [string, bigint])[] {
  return consumesCounters.flatMap(({ counterSet, counters }) =>
    Object.entries(counters).map(([name, { value }]) => [`${counterSet}/${name}`, nanosOf(value)] as const),
  )
}

function nanosOf(text: string): bigint {
  return tryParseQuantity(text)?.nanos ?? 0n
}
