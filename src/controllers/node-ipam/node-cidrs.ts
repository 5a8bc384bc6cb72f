import { formatCidr, type Cidr } from '#/api/net/cidr.ts'
import type { CidrSet } from './cidr-set.ts'

/** Allocated pod CIDRs by node: one from each pool, in the order of the pools. */
export class NodeCidrs {
  readonly #pools: readonly CidrSet[]
  readonly #occupied = new Map<string, readonly Cidr[]>()

  constructor(pools: readonly CidrSet[]) {
    this.#pools = pools
  }

  /** Replaces the node's CIDRs. */
  occupy(name: string, cidrs: readonly Cidr[]): void {
    const known = this.#occupied.get(name) ?? []
    if (known.length === cidrs.length && known.every((cidr, index) => isSame(cidr, cidrs[index]!))) return
    this.release(name)
    cidrs.forEach((cidr, index) => this.#pools[index]?.occupy(cidr))
    if (cidrs.length > 0) this.#occupied.set(name, cidrs)
  }

  release(name: string): void {
    this.#occupied.get(name)?.forEach((cidr, index) => this.#pools[index]?.release(cidr))
    this.#occupied.delete(name)
  }

  /** Returns the node's CIDRs, allocating them if necessary; undefined if a pool is exhausted. */
  allocate(name: string): readonly Cidr[] | undefined {
    const known = this.#occupied.get(name)
    if (known !== undefined) return known
    const allocated: Cidr[] = []
    for (const pool of this.#pools) {
      const cidr = pool.allocateNext()
      if (cidr === undefined) {
        allocated.forEach((each, index) => this.#pools[index]?.release(each))
        return undefined
      }
      allocated.push(cidr)
    }
    this.#occupied.set(name, allocated)
    return allocated
  }
}

function isSame(left: Cidr, right: Cidr): boolean {
  return formatCidr(left) === formatCidr(right)
}
