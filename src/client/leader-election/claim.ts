import type { Lease } from '#/api/generated/coordination/v1.ts'
import { formatMicroTime } from '#/api/time.ts'

export interface ObservedLease {
  readonly lease: Lease
  /** When this version was first seen, by a clock that never goes back. */
  readonly seenMs: number
}

export interface Claim {
  readonly namespace: string
  readonly name: string
  readonly identity: string
  readonly leaseMs: number
  /** Wall time. */
  readonly nowMs: number
}

/**
 * Whether the lease may be taken: it is nobody's, our own, or was not renewed for as long as its holder
 * promised to.
 */
export function isFree({ lease, seenMs }: ObservedLease, identity: string, nowMs: number): boolean {
  const { holderIdentity = '', leaseDurationSeconds = 0 } = lease.spec ?? {}
  if (holderIdentity === '' || holderIdentity === identity) return true
  return nowMs >= seenMs + leaseDurationSeconds * 1_000
}

/** The lease as it is when we hold it, new or renewed. */
export function claimed(
  current: Lease | undefined,
  { namespace, name, identity, leaseMs, nowMs }: Claim,
): Lease {
  const now = formatMicroTime(nowMs)
  const { holderIdentity, acquireTime, leaseTransitions = 0 } = current?.spec ?? {}
  const isRenewal = holderIdentity === identity
  return {
    ...current,
    metadata: current?.metadata ?? { namespace, name },
    spec: {
      ...current?.spec,
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(leaseMs / 1_000),
      acquireTime: isRenewal ? (acquireTime ?? now) : now,
      renewTime: now,
      leaseTransitions: current === undefined || isRenewal ? leaseTransitions : leaseTransitions + 1,
    },
  }
}

/** The lease as it is when nobody holds it and nobody need wait. */
export function freed(lease: Lease, nowMs: number): Lease {
  const now = formatMicroTime(nowMs)
  return {
    ...lease,
    spec: { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1, acquireTime: now, renewTime: now },
  }
}
