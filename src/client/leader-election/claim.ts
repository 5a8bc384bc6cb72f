import type { Lease } from '#/api/generated/coordination/v1.ts'
import { formatMicroTime } from '#/api/time.ts'

export interface ObservedLease {
  readonly lease: Lease
  /** Monotonic time at which this version was first observed. */
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

/** True if the lease has no holder, is held by `identity`, or was not renewed for its lease duration. */
export function isFree({ lease, seenMs }: ObservedLease, identity: string, nowMs: number): boolean {
  const { holderIdentity = '', leaseDurationSeconds = 0 } = lease.spec ?? {}
  if (holderIdentity === '' || holderIdentity === identity) return true
  return nowMs >= seenMs + leaseDurationSeconds * 1_000
}

/** The lease after acquisition or renewal. */
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

/** The lease after release: without a holder, expiring at once. */
export function freed(lease: Lease, nowMs: number): Lease {
  const now = formatMicroTime(nowMs)
  return {
    ...lease,
    spec: { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1, acquireTime: now, renewTime: now },
  }
}
