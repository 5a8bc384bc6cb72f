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
} from '#/api/cidr.ts'
import { bitsOf } from '#/api/ip.ts'

/** Ranges of nodes in one range of the cluster; with more the bookkeeping would be too large. */
const subnetsMax = 2 ** 24

/**
 * The ranges of nodes in a range of the cluster, and which are taken. After the last comes the first again, so that a
 * range which came free is not in use again at once, while others still know the old node by it.
 */
export class Subnets {
  readonly #cluster: Cidr
  readonly #prefixLength: number
  readonly #count: number
  /** How many hold each range, by its index; more than one when somebody gave it out twice. */
  readonly #holders = new Map<number, number>()
  #next = 0

  /** Throws Error when no range of this size is in the cluster's. */
  constructor(cluster: string, prefixLength: number) {
    const cidr = parseCidr(cluster)
    if (cidr === undefined)
      throw new Error(`${JSON.stringify(cluster)} is no range of addresses: write it like 10.244.0.0/16`)
    const count = subnetCount(cidr, prefixLength)
    if (count === 0n || count > BigInt(subnetsMax)) {
      const size = `/${prefixLength} of ${formatCidr(cidr)}`
      throw new Error(`nodes cannot have a ${size}: there ${count === 0n ? 'is none' : 'are too many'} in it`)
    }
    this.#cluster = cidr
    this.#prefixLength = prefixLength
    this.#count = Number(count)
  }

  /** Undefined when all are taken. */
  take(): Cidr | undefined {
    for (let tries = 0; tries < this.#count; tries++) {
      const index = this.#next
      this.#next = (index + 1) % this.#count
      if (this.#holders.has(index)) continue
      this.#holders.set(index, 1)
      return nthSubnet(this.#cluster, this.#prefixLength, index)
    }
    return undefined
  }

  /** Somebody has this range, which may be larger or smaller than those given here, or elsewhere. */
  hold(cidr: Cidr): void {
    for (const index of this.#indexesOf(cidr)) this.#holders.set(index, (this.#holders.get(index) ?? 0) + 1)
  }

  release(cidr: Cidr): void {
    for (const index of this.#indexesOf(cidr)) {
      const holders = (this.#holders.get(index) ?? 0) - 1
      if (holders > 0) this.#holders.set(index, holders)
      else this.#holders.delete(index)
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
