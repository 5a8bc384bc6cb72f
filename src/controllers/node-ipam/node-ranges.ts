import type { Cidr } from '#/api/cidr.ts'
import type { Subnets } from './subnets.ts'

/** Allocated pod CIDRs by node: one from each pool, in the order of the pools. */
export class NodeRanges {
  readonly #pools: readonly Subnets[]
  readonly #held = new Map<string, readonly Cidr[]>()

  constructor(pools: readonly Subnets[]) {
    this.#pools = pools
  }

  /** Replaces the node's CIDRs. */
  hold(name: string, cidrs: readonly Cidr[]): void {
    this.release(name)
    cidrs.forEach((cidr, index) => this.#pools[index]?.hold(cidr))
    if (cidrs.length > 0) this.#held.set(name, cidrs)
  }

  release(name: string): void {
    this.#held.get(name)?.forEach((cidr, index) => this.#pools[index]?.release(cidr))
    this.#held.delete(name)
  }

  /** Returns the node's CIDRs, allocating them if necessary; undefined if a pool is exhausted. */
  give(name: string): readonly Cidr[] | undefined {
    const known = this.#held.get(name)
    if (known !== undefined) return known
    const taken: Cidr[] = []
    for (const pool of this.#pools) {
      const cidr = pool.take()
      if (cidr === undefined) {
        taken.forEach((each, index) => this.#pools[index]?.release(each))
        return undefined
      }
      taken.push(cidr)
    }
    this.#held.set(name, taken)
    return taken
  }
}
