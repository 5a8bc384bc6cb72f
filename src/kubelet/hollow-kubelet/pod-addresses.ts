import type { Pod } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'

/** Allocates pod IPs from the node's /24. A released address is reused as late as possible. */
export class PodAddresses {
  readonly #prefix: string
  readonly #byUid = new Map<string, string>()
  readonly #taken = new Set<string>()
  #last = 1

  /** `cidr` has the form `10.244.3.0/24`. */
  constructor(cidr: string) {
    this.#prefix = cidr.replace(/\.\d+\/\d+$/, '')
  }

  /** Returns the pod's address, allocating one if needed. */
  take({ metadata, status }: Stored<Pod>): string {
    const uid = metadata.uid
    const known = this.#byUid.get(uid)
    if (known !== undefined) return known
    const address = status?.podIP ?? this.#next()
    this.#byUid.set(uid, address)
    this.#taken.add(address)
    return address
  }

  free(uid: string): void {
    this.#taken.delete(this.#byUid.get(uid) ?? '')
    this.#byUid.delete(uid)
  }

  #next(): string {
    for (let tries = 0; tries < 254; tries++) {
      this.#last = this.#last >= 254 ? 2 : this.#last + 1
      const address = `${this.#prefix}.${this.#last}`
      if (!this.#taken.has(address)) return address
    }
    throw new Error(`no IP addresses available in ${this.#prefix}.0/24`)
  }
}
