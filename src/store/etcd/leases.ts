import type { EtcdClient } from './client.ts'

type LeaseId = number | bigint

interface Lease {
  readonly id: Promise<LeaseId>
  /** Up to this moment a key that is attached lives long enough. */
  readonly usableUntilMs: number
  attached: number
}

/**
 * Leases for keys that expire. Granting one for each key would cost a write of its own and a timer in etcd,
 * so keys with the same time to live share one for a while; they live at most that much longer.
 */
export class Leases {
  readonly #client: EtcdClient
  /** By time to live. */
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

  /** After etcd said that it does not know the lease. */
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
 * Leases are shared for this part of the time to live, unless that is hardly any time, and never for longer
 * than the rest.
 */
const sharedPart = 0.05
const shortestSharingMs = 1_000
const longestSharingMs = 60_000

/** Keys on one lease; they all expire in one transaction. */
const attachedMax = 1_000

/** Times to live that leases are kept for; past that the oldest are no longer shared. */
const leasesMax = 100
