import {
  addressIndex,
  cidrsOverlap,
  firstAddress,
  formatCidr,
  lastAddress,
  nthSubnet,
  parseCidr,
  subnetCount,
  type Cidr,
} from '#/api/net/cidr.ts'
import { bitsOf } from '#/api/net/ip.ts'

/** Maximum number of node subnets per cluster CIDR; limits memory. */
const subnetsMax = 2 ** 24

/**
 * Allocator of node subnets within a cluster CIDR. Allocates round-robin, so that a released subnet is not
 * reused at once while stale routes to the old node may exist.
 */
export class CidrSet {
  readonly #cluster: Cidr
  readonly #prefixLength: number
  readonly #count: number
  /** Number of holders by subnet index; more than one if a subnet was assigned twice. */
  readonly #users = new Map<number, number>()
  #next = 0
  /** Totals since creation. */
  readonly totals = { allocations: 0, releases: 0 }
  /** Called for each allocation with the number of subnets in use that were skipped. */
  onAllocated: (tries: number) => void = () => undefined

  /** Throws Error if the cluster CIDR has no subnet of this size, or too many. */
  constructor(cluster: string, prefixLength: number) {
    const cidr = parseCidr(cluster)
    if (cidr === undefined)
      throw new Error(`invalid cluster CIDR ${JSON.stringify(cluster)}: use a CIDR such as 10.244.0.0/16`)
    const count = subnetCount(cidr, prefixLength)
    if (count === 0n)
      throw new Error(`node mask size /${prefixLength} does not fit in cluster CIDR ${formatCidr(cidr)}`)
    if (count > BigInt(subnetsMax))
      throw new Error(`cluster CIDR ${formatCidr(cidr)} has too many subnets of size /${prefixLength}`)
    this.#cluster = cidr
    this.#prefixLength = prefixLength
    this.#count = Number(count)
  }

  get cluster(): string {
    return formatCidr(this.#cluster)
  }

  /** Number of subnets, and of those in use. */
  get sizes(): { readonly max: number; readonly used: number } {
    return { max: this.#count, used: this.#users.size }
  }

  /** Undefined if all are allocated. */
  allocateNext(): Cidr | undefined {
    for (let tries = 0; tries < this.#count; tries++) {
      const index = this.#next
      this.#next = (index + 1) % this.#count
      if (this.#users.has(index)) continue
      this.#users.set(index, 1)
      this.totals.allocations++
      this.onAllocated(tries)
      return nthSubnet(this.#cluster, this.#prefixLength, index)
    }
    return undefined
  }

  /** Marks a CIDR as used. It may be larger or smaller than a node subnet, or outside the cluster CIDR. */
  occupy(cidr: Cidr): void {
    for (const index of this.#indexesOf(cidr)) {
      if (!this.#users.has(index)) this.totals.allocations++
      this.#users.set(index, (this.#users.get(index) ?? 0) + 1)
    }
  }

  release(cidr: Cidr): void {
    for (const index of this.#indexesOf(cidr)) {
      const holders = (this.#users.get(index) ?? 0) - 1
      if (holders > 0) this.#users.set(index, holders)
      else if (this.#users.delete(index)) this.totals.releases++
    }
  }

  *#indexesOf(cidr: Cidr): Generator<number, void> {
    if (!cidrsOverlap(this.#cluster, cidr)) return
    const sizeBits = BigInt(bitsOf(this.#cluster.family) - this.#prefixLength)
    const first = addressIndex(this.#cluster, firstAddress(cidr)) ?? 0n
    const last = addressIndex(this.#cluster, lastAddress(cidr))
    const end = last === undefined ? this.#count - 1 : Number(last >> sizeBits)
    for (let index = Number(first >> sizeBits); index <= end; index++) yield index
  }
}
