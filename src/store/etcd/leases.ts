import type { EtcdClient } from './client.ts'

type LeaseId = number | bigint

interface Lease {
  readonly id: Promise<LeaseId>
  /** Until this time, keys attached to the lease live long enough. */
  readonly usableUntilMs: number
  attached: number
}

/**
 * Leases for keys with a TTL. A lease per key would cost a write and a timer in etcd, so keys with the same
 * TTL share one for some time; they live longer by at most that time.
 */
export class Leases {
  readonly #client: EtcdClient
  /** By TTL in milliseconds. */
  readonly #leases = new Map<number, Lease>()

  constructor(client: EtcdClient) {
    this.#client = client
  }

  async leaseFor(ttlMs: number): Promise<LeaseId> {
    const now = this.#client.clock.monotonicMs()
    let lease = this.#leases.get(ttlMs)
    if (lease === undefined || now > lease.usableUntilMs || lease.attached >= attachedMax) {
      this.#forget(now)
      const partMs = ttlMs * sharedPart
      const sharingMs = partMs < shortestSharingMs ? 0 : Math.min(partMs, longestSharingMs)
      const id = this.#client.grantLease(Math.max(1, Math.ceil((ttlMs + sharingMs) / 1_000)))
      lease = { id, usableUntilMs: now + sharingMs, attached: 0 }
      this.#leases.set(ttlMs, lease)
      id.catch(() => this.#leases.delete(ttlMs))
    }
    lease.attached++
    return lease.id
  }

  /** Called when etcd reports that the lease does not exist. */
  forget(ttlMs: number): void {
    this.#leases.delete(ttlMs)
  }

  #forget(now: number): void {
    for (const [ttlMs, lease] of this.#leases) {
      if (now > lease.usableUntilMs || this.#leases.size > leasesMax) this.#leases.delete(ttlMs)
    }
  }
}

/**
 * Fraction of the TTL during which a lease is shared; less than `shortestSharingMs` means not shared, and
 * `longestSharingMs` is the maximum.
 */
const sharedPart = 0.05
const shortestSharingMs = 1_000
const longestSharingMs = 60_000

/** Maximum number of keys on one lease; all expire in one transaction. */
const attachedMax = 1_000

/** Maximum number of TTLs with a shared lease; beyond that the oldest leases are no longer shared. */
const leasesMax = 100
