import { cidrSize, nthAddress, parseCidr, type Cidr } from '#/api/net/cidr.ts'
import { formatIp } from '#/api/net/ip.ts'
import { assert } from '#/base/assert.ts'

/** Allocates addresses from a range. A released address is reused as late as possible. */
export class AddressPool {
  readonly #text: string
  readonly #cidr: Cidr
  /** The network address, the gateway after it and IPv4's broadcast address are never allocated. */
  readonly #last: bigint
  readonly #taken = new Set<string>()
  #next = 2n

  constructor(text: string) {
    const cidr = parseCidr(text)
    assert(cidr !== undefined, `invalid CIDR: ${text}`)
    this.#text = text
    this.#cidr = cidr
    this.#last = cidrSize(cidr) - (cidr.family === 4 ? 2n : 1n)
  }

  /** Throws when the range is exhausted. */
  take(): string {
    for (let tries = 0n; tries < this.#last && tries <= BigInt(this.#taken.size); tries++) {
      if (this.#next > this.#last) this.#next = 2n
      const ip = nthAddress(this.#cidr, this.#next++)
      const address = ip && formatIp(ip)
      if (address === undefined || this.#taken.has(address)) continue
      this.#taken.add(address)
      return address
    }
    throw new Error(`no IP addresses available in range set: ${this.#text}`)
  }

  free(address: string): void {
    this.#taken.delete(address)
  }
}
